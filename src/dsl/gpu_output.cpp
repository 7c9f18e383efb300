#include "dsl/gpu_output.h"

#include <algorithm>
#include <numeric>

#include "dsl/hopper.h"

namespace gemmsmith {
namespace {

constexpr int kWarpRows = 16;     // of a fragment
constexpr int kVectorBytes = 16;  // of a store
constexpr int kFragmentRows = 64;

// The coordinate of a thread or register: the sum over the leaves that matter.
Int coordinate(const Mode& mode, const Int& index) {
  std::vector<Int> sums{0};
  int64_t below = 1;
  for (const Leaf& leaf : mode.leaves()) {
    if (leaf.stride) sums.push_back(sums.back() + (index / below) % leaf.extent * leaf.stride);
    below *= leaf.extent;
  }
  return sums.back();
}

Tensor shared_tensor(const Int& address, Kind kind, const Layout& layout) {
  return {op::shared_pointer(address), kind, staged(layout), Space::shared};
}

Vec halves(const Vec& low, const Vec& high) {
  std::vector<int> lanes(size_t(low.lanes + high.lanes));
  std::iota(lanes.begin(), lanes.end(), 0);
  return permute(low, high, lanes);
}

// Lanes of a matrix in global memory as f32, along its last mode. Coordinates outside are moved inside: what comes of
// them is not stored. `vectors`: no vector sticks out.
Vec load_inside(const Tensor& t, const Int& row, const Int& column, int lanes, bool vectors) {
  const Int rows = t.extent(0), columns = t.extent(1), r = min(row, rows - 1);
  const Tensor all = t.unmasked();
  if (vectors) return convert(all.load_along(1, {r, select(column < columns, column, 0)}, lanes), Kind::f32);
  std::vector<Vec> parts;
  for (int i = 0; i < lanes; ++i) parts.push_back(all.load({r, min(column + i, columns - 1)}));
  return convert(join(parts), Kind::f32);
}

// Whether the sums of all consumers that share a tile are what the tile is made for.
bool is_of_tile(const Consumer& self, const Fragment& f, TileShape tile, const Where& at) {
  const int rows = f.instructions * kFragmentRows * self.parts;
  if (rows == tile.rows && f.columns == tile.columns) return true;
  op::fail(at, "sums of " + std::to_string(rows) + " x " + std::to_string(f.columns),
           "do not fit a tile of " + std::to_string(tile.rows) + " x " + std::to_string(tile.columns),
           "the shape of the inputs' tiles");
  return false;
}

Output of_batch(const Output& output, bool batched, const Int& batch) {
  return batched ? output.slice(0, batch) : output;
}

// Register of the fragment that holds (row 0 or 8, column) of its instruction, for thread 0; `column` is even.
size_t register_of(int columns, int instruction, int row8, int column) {
  return size_t(instruction * columns / 2 + column / 8 * 4 + row8 / 8 * 2 + column % 2);
}

}  // namespace

// TmaOutput.

TmaOutput GpuBuilder::tma_output(const OutputArg& arg, TileShape shape, int consumers, int buffers, bool vectors,
                                 Where at) {
  const Scope scope("tma_output", at);
  const Kind element = arg.d.type;
  const bool by_rows = (arg.d.major != Major::column) != arg.d.transposed;
  Output d = output(arg, at);
  TmaOutput out(arg.d.major != Major::column ? d : d.transposed());  // vectors lie along the last mode
  out.by_rows_ = by_rows;
  out.element_ = element;
  out.converted_ = d.is_conversion() && bytes(element) == 2 && arg.acc != DataType::i32;
  out.batched_ = arg.d.batched;
  out.vectors_ = vectors;
  if (vectors) align_vectors(out.output_, arg, at);
  out.tile_ = shape;
  out.consumers_ = consumers;
  out.buffers_ = buffers;
  if (buffers < 2)
    op::fail(at, std::to_string(buffers) + " staging buffers", "do not let a store go on while the next tile is staged",
             "2 or more");
  if (arg.d.major == Major::none || shape.columns % 8 != 0) {
    op::fail(at, "D",
             arg.d.major == Major::none ? "has no contiguous mode, which TMA needs" : "has no tile of that width",
             "row- or column-major, a multiple of 8 columns");
    return out;
  }
  const auto whole = [&](int columns) {
    return swizzled_tile(kFragmentRows, columns, bytes(element), by_rows ? Major::row : Major::column);
  };
  // Rows are cut where their swizzle ends, columns where a box would be needlessly large.
  int columns = by_rows ? int(whole(shape.columns).modes[1].leaves().front().extent) : 64;
  while (shape.columns % columns != 0) columns /= 2;
  out.box_ = whole(columns);
  auto boxes = tma_boxes(out.box_, kFragmentRows);
  if (!boxes.ok()) {
    op::fail(at, std::move(boxes).error());
    return out;
  }
  out.parts_ = *boxes;
  out.staging_.emplace(allocate("d", consumers * buffers * span_bytes(out.box_), consumers * buffers, at));
  if (!out.converted_) {
    const int step = std::min(columns, 32);
    out.sums_.emplace(allocate("sums", int64_t(consumers) * kFragmentRows * step * 4, consumers, at));
  }
  out.map_ = tensor_map(arg.d, out.box_, out.parts_.rows, out.parts_.columns, {}, at);
  stores_in_flight_ = true;
  return out;
}

// Where the order of buffers restarts: the stores of the tile before have to finish first.
void TmaOutput::restart_buffers(const Consumer& self, int boxes) const {
  if (boxes % buffers_ == 0) return;
  when(self.thread == 0, [] { op::bulk_wait(0, true); });
  self.sync();
}

// A full buffer goes out, and the next one is free.
void TmaOutput::send(const Consumer& self, const Tile& t, const Int& buffer, const Int& row, const Int& column) const {
  const Bool leader = self.thread == 0;
  op::fence_async_shared();
  when(leader, [&] { op::bulk_wait(buffers_ - 2, true); });
  self.sync();
  when(leader, [&] {
    for (const TmaBoxes::At& part : parts_.at) {
      std::vector<Int> at;
      at.push_back(by_rows_ ? column + part.column : row + part.row);
      at.push_back(by_rows_ ? row + part.row : column + part.column);
      if (batched_) at.push_back(t.batch);
      op::tma_store(map_, buffer + part.byte, at);
    }
    op::bulk_commit();
  });
}

void TmaOutput::store(const Consumer& self, const Tile& t, const Fragment& f, Where at) const {
  const Scope scope("store", at);
  if (op::failed() || !staging_ || !is_of_tile(self, f, tile_, at)) return;
  if (self.count != consumers_)
    return op::fail(at, "an output of " + std::to_string(consumers_) + " consumers",
                    "has no staging buffers for " + std::to_string(self.count), "k.tma_output() with as many as store");
  if (converted_)
    store_converted(self, t, f, at);
  else
    store_evaluated(self, t, f, at);
}

void TmaOutput::store_converted(const Consumer& self, const Tile& t, const Fragment& f, const Where& where) const {
  const int box_columns = int(box_.extent(1)), boxes = f.columns / box_columns;
  const MatrixRows& rows = stmatrix_rows(!by_rows_);
  // The address of (thread, register) is swizzle(thread part + register part). A swizzle is linear over xor, so when the
  // two parts share no address bit, as is checked here for every thread, it is swizzle(thread part) ^ swizzle(register
  // part): one xor for each stmatrix.
  int64_t thread_bits = 0, register_bits = 0;
  for (int thread = 0; thread < 128; ++thread)
    thread_bits |= box_.linear({offset(rows.thread_row, thread), offset(rows.thread_column, thread)});
  for (int c = 0; c < box_columns; c += 16) register_bits |= box_.linear({0, c});
  if (thread_bits & register_bits)
    return op::fail(where, "staging tile " + print(box_), "is not linear over the addresses of stmatrix");

  std::optional<Int> buffer0, thread_byte;
  op::hoist([&] {
    buffer0.emplace(*staging_ + self.index * (buffers_ * span_bytes(box_)));
    const Offset linear =
        staged(box_).linear({coordinate(rows.thread_row, self.thread), coordinate(rows.thread_column, self.thread)});
    thread_byte.emplace(op::as_int(op::advance(op::shared_pointer(0), swizzled(linear, box_.swizzle.mask()))));
  });
  const Int row = t.m * tile_.rows + self.part * (f.instructions * kFragmentRows), column = t.n * tile_.columns;
  restart_buffers(self, f.instructions * boxes);
  for (int i = 0, used = 0; i < f.instructions; ++i)
    for (int box = 0; box < boxes; ++box, ++used) {
      const Int buffer = *buffer0 + used % buffers_ * span_bytes(box_);
      for (int c = 0; c < box_columns; c += 16) {
        std::vector<Scalar> packed;
        for (int c8 = c; c8 < std::min(c + 16, box_columns); c8 += 8)
          for (int r8 : {0, 8}) {  // two neighbouring columns of one row
            const size_t first = register_of(f.columns, i, r8, box * box_columns + c8);
            packed.push_back(
                bitcast(convert(join({Vec(f.values[first]), Vec(f.values[first + 1])}), element_), Kind::i32));
          }
        op::store_matrix(buffer + (*thread_byte ^ byte_of(box_, {0, c})), packed, !by_rows_);
      }
      send(self, t, buffer, row + i * kFragmentRows, column + box * box_columns);
    }
}

void TmaOutput::store_evaluated(const Consumer& self, const Tile& t, const Fragment& f, const Where& where) const {
  const int box_columns = int(box_.extent(1)), boxes = f.columns / box_columns;
  const int step = std::min(box_columns, 32), lanes = kVectorBytes / bytes(element_);
  const bool by_rows = by_rows_;
  const Layout sums_layout = swizzled_tile(kFragmentRows, step, 4, by_rows ? Major::row : Major::column);
  const FragmentLayout& fragment = wgmma_fragment();
  const int vectors = by_rows ? step / lanes : kWarpRows / lanes;  // of a row, or of a column's rows in this warp
  const int of_warp = kWarpRows * step / lanes;
  if (vectors == 0)
    return op::fail(where, "a tile of " + std::to_string(f.columns) + " columns of " + print(element_),
                    "has no whole vectors of 16 bytes to store", "a multiple of " + std::to_string(lanes));

  std::optional<Int> buffer0, sums0, thread_row, thread_column, warp_row, lane;
  op::hoist([&] {
    buffer0.emplace(*staging_ + self.index * (buffers_ * span_bytes(box_)));
    sums0.emplace(*sums_ + self.index * span_bytes(sums_layout));
    thread_row.emplace(coordinate(fragment.thread_row, self.thread));
    thread_column.emplace(coordinate(fragment.thread_column, self.thread));
    warp_row.emplace((self.thread >> 5) * kWarpRows);
    lane.emplace(self.thread & 31);
  });
  const Tensor sums = shared_tensor(*sums0, f.kind, sums_layout);
  const Output here = of_batch(output_, batched_, t.batch);
  const Int row = t.m * tile_.rows + self.part * (f.instructions * kFragmentRows), column = t.n * tile_.columns;
  restart_buffers(self, f.instructions * boxes);
  for (int i = 0, used = 0; i < f.instructions; ++i)
    for (int box = 0; box < boxes; ++box, ++used) {
      const Tensor staging = shared_tensor(*buffer0 + used % buffers_ * span_bytes(box_), element_, box_);
      for (int c = 0; c < box_columns; c += step) {
        op::warp_barrier();  // its rows of `sums` are this warp's alone
        for (int c8 = 0; c8 < step; c8 += 8)
          for (int r8 : {0, 8}) {
            const size_t first = register_of(f.columns, i, r8, box * box_columns + c + c8);
            const Vec low(f.values[first]), high(f.values[first + 1]);
            const Int r = *thread_row + r8, n = *thread_column + c8;
            if (by_rows) {
              sums.store({r, n}, join({low, high}));
            } else {
              sums.store({r, n}, low);
              sums.store({r, n + 1}, high);
            }
          }
        op::warp_barrier();
        for (Int vector : range(*lane, of_warp, 32)) {
          const Int r = *warp_row + (by_rows ? vector / vectors : vector % vectors * lanes);
          const Int n = by_rows ? vector % vectors * lanes : vector / vectors;
          std::optional<Vec> acc;
          for (int part = 0; part < lanes; part += 4) {
            const Coord at = by_rows ? Coord{r, n + part} : Coord{r + part, n};
            const Vec four = sums.load(at, 4);
            acc.emplace(acc ? halves(*acc, four) : four);
          }
          const Int global_row = row + i * kFragmentRows + r, global_column = column + box * box_columns + c + n;
          const auto load = [&](const Tensor& x) {
            return by_rows ? load_inside(x, global_row, global_column, lanes, vectors_)
                           : load_inside(x, global_column, global_row, lanes, vectors_);
          };
          // Sums of integers that are only converted stay integers: f32 would round those beyond 2^24.
          staging.store({r, c + n}, here.is_conversion() ? *acc : here.evaluate(*acc, load));
        }
      }
      send(self, t, *buffer0 + used % buffers_ * span_bytes(box_), row + i * kFragmentRows, column + box * box_columns);
    }
}

// SharedTile.

SharedTile GpuBuilder::shared_tile(TileShape shape, Where at) {
  const Scope scope("shared_tile", at);
  SharedTile out;
  out.layout_ = padded_tile(shape.rows, shape.columns, 4, 32);  // 32 bytes move the rows of a fragment to other banks
  out.base_.emplace(allocate("partial sums", span_bytes(out.layout_), 1, at));
  return out;
}

void SharedTile::store(const Consumer& self, const Fragment& f, Where at) const {
  const Scope scope("shared_tile.store", at);
  if (op::failed() || !is_of_tile(self, f, shape(), at)) return;
  const FragmentLayout& fragment = wgmma_fragment();
  const Tensor tile = shared_tensor(*base_, f.kind, layout_);
  const Int row = self.part * (f.instructions * kFragmentRows) + coordinate(fragment.thread_row, self.thread);
  const Int column = coordinate(fragment.thread_column, self.thread);
  for (int i = 0; i < f.instructions; ++i)
    for (int c = 0; c < f.columns; c += 8)
      for (int r8 : {0, 8}) {
        const size_t first = register_of(f.columns, i, r8, c);
        tile.store({row + (i * kFragmentRows + r8), column + c},
                   join({Vec(f.values[first]), Vec(f.values[first + 1])}));
      }
}

Vec SharedTile::load(const Int& row, const Int& column, const Int& rank, int lanes, Where at) const {
  const Scope scope("shared_tile.load", at);
  const Offset byte = staged(layout_).linear({row, column});
  const Int address = op::as_int(op::advance(op::shared_pointer(*base_), byte));
  return op::load_cluster(op::map_to_rank(address, rank), Kind::f32, lanes);
}

// GlobalOutput.

GlobalOutput GpuBuilder::global_output(const OutputArg& arg, bool vectors, Where at) {
  const Scope scope("global_output", at);
  const Output d = output(arg, at);
  // Vectors lie along rows: where those are not contiguous, there is no promise that none sticks out.
  const bool along_rows = vectors && arg.d.major == Major::row && !arg.d.transposed;
  if (along_rows) align(arg.d.name, kVectorBytes, at), align_vectors(d, arg, at);
  return {arg.d.transposed ? d.transposed() : d, along_rows};
}

void GlobalOutput::store(const Tile& t, const Int& row, const Int& column, const Vec& sums, Where at) const {
  const Scope scope("store", at);
  if (op::failed()) return;
  const Output here = of_batch(output_, output_.rank() == 3, t.batch);
  const Tensor& d = here.d();
  const Int rows = d.extent(0), columns = d.extent(1);
  when((row < rows) & (column < columns), [&] {
    // Sums of integers that are only converted stay integers: f32 would round those beyond 2^24.
    const Vec value = here.is_conversion() ? sums : here.evaluate(sums, [&](const Tensor& x) {
      return load_inside(x, row, column, sums.lanes, vectors_);
    });
    const Tensor all = d.unmasked();
    if (vectors_ || sums.lanes == 1) return all.store_along(1, {row, column}, value);
    for (int i = 0; i < sums.lanes; ++i)
      when(column + i < columns, [&] { all.store({row, column + i}, extract(value, i)); });
  });
}

}  // namespace gemmsmith
