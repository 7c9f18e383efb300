// Vector algorithms made of shuffles.
#include "dsl/vec.h"

#include <string>

#include "dsl/ops.h"

namespace gemmsmith {

namespace {
using Vecs = std::vector<Vec>;

// Of pairs of chunks of a and b: the first (or second) ones, a's before b's.
std::vector<int> deinterleave(int lanes, int chunk, int which) {
  std::vector<int> out;
  for (int i = 0; i < lanes / chunk; ++i)
    for (int j = 0; j < chunk; ++j) out.push_back((2 * i + which) * chunk + j);
  return out;
}

// Chunks of a and b by turns, from the lower (or upper) half of each 128-bit lane: unpacklo and unpackhi.
std::vector<int> unpack(int lanes, int chunk, int half, int lane128) {
  std::vector<int> out;
  for (int base = 0; base < lanes; base += lane128)
    for (int i = 0; i < lane128 / 2; i += chunk)
      for (int side : {0, 1})
        for (int j = 0; j < chunk; ++j) out.push_back(side * lanes + base + half * lane128 / 2 + i + j);
  return out;
}
}  // namespace

// The perfect shuffle: taking the even and odd chunks of neighbours log2(n) times transposes. Elements of 4 bytes first
// go through two in-lane stages, unpacks that cost one cycle, after which 4 x 4 blocks are transposed and the chunks
// are 128 bits.
std::vector<Vec> transpose(const std::vector<Vec>& rows, Where at) {
  const Scope scope("transpose", at);
  const int n = int(rows.size());
  bool fits = n > 0 && (n & (n - 1)) == 0;
  for (const Vec& v : rows) fits = fits && v.lanes == n && v.kind == rows[0].kind;
  if (!fits) {
    op::fail(at, "a transposition of " + std::to_string(n) + " vectors",
             "is of n vectors of n lanes, n a power of two");
    return rows;
  }
  Vecs now = rows;
  int chunk = 1;
  if (bytes(rows[0].kind) == 4 && n >= 4) {
    Vecs pairs, quads;
    for (int i = 0; i < n; i += 2)
      for (int half : {0, 1}) pairs.push_back(permute({now[size_t(i)], at}, now[size_t(i + 1)], unpack(n, 1, half, 4)));
    for (int i = 0; i < n; i += 4)
      for (int odd : {0, 1})
        for (int half : {0, 1})
          quads.push_back(permute({pairs[size_t(i + odd)], at}, pairs[size_t(i + 2 + odd)], unpack(n, 2, half, 4)));
    now.clear();
    // quads[4g + j] has column 4L + j of rows 4g..4g+3 in its 128-bit lane L: collect by j, transpose over (g, L).
    for (int j = 0; j < 4; ++j)
      for (int g = 0; g < n; g += 4) now.push_back(quads[size_t(g + j)]);
    chunk = 4;
  }
  const int group = n / chunk;  // vectors that are transposed with each other
  for (int width = 1; width < group; width *= 2) {
    Vecs next;
    for (int base = 0; base < n; base += group)
      for (int which : {0, 1})
        for (int i = 0; i < group; i += 2)
          next.push_back(
              permute({now[size_t(base + i)], at}, now[size_t(base + i + 1)], deinterleave(n, chunk, which)));
    now.swap(next);
  }
  if (chunk == 1) return now;
  Vecs out;
  for (int column = 0; column < n; ++column) out.push_back(now[size_t(column % 4 * group + column / 4)]);
  return out;
}

}  // namespace gemmsmith
