#include "dsl/tma.h"

namespace gemmsmith {

Int Cluster::rank_of_k(int k_rank) const { return m.rank + n.rank * m.size + Int(k_rank) * (m.size * n.size); }

TmaCopy TmaInput::operator()(Int tile_row, Int tile_column, Where at) const {
  const Scope scope("tma_input", at);
  return {this, tile_row * rows(), tile_column * columns(), {}};
}
TmaCopy TmaInput::operator()(Int batch, Int tile_row, Int tile_column, Where at) const {
  const Scope scope("tma_input", at);
  TmaCopy copy{this, tile_row * rows(), tile_column * columns(), {}};
  copy.batch.emplace(batch);
  return copy;
}

void TmaInput::issue(const TmaCopy& copy, const Int& buffer, const Int& barrier) const {
  const Int slice = slice_ ? *slice_ : Int(0);
  const Int first_row = copy.row + slice * (rows_loaded_ / multicast_);
  const BasicMode<Int> slices = transform(slices_, [](const Leaf& l) { return BasicLeaf<Int>{l.extent, l.stride}; });
  const Offset moved = offset(slices, slice);
  const Int to = op::as_int(op::advance(op::shared_pointer(buffer), moved));
  for (const TmaBoxes::At& box : boxes_.at) {
    const Int r = first_row + box.row, c = copy.column + box.column;
    const bool by_rows = layout_.modes[0].leaves().front().stride == layout_.element_bytes;
    std::vector<Int> at;
    at.push_back(by_rows ? r : c);
    at.push_back(by_rows ? c : r);
    if (batched_) at.push_back(copy.batch ? *copy.batch : Int(0));
    op::tma_load(to + box.byte, map_, at, barrier, mask_);
  }
}

}  // namespace gemmsmith
