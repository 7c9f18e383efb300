#include "dsl/gemm.h"

namespace gemmsmith::test {

void gemm_packed(KernelBuilder& k, const GemmConfig& c, const GemmClass& p) {
  const Kind sum = p.out.acc;
  const int lanes = k.lanes(sum), vectors = c.nr / lanes;
  const int group = c.inner == Inner::fma ? 1 : c.inner == Inner::dot_pairs ? 2 : 4;
  const bool batched = p.out.d.batched;
  const Tensor a = k.matrix(p.a), b = k.matrix(p.b);
  const Output d = k.output(p.out);
  const Int batch = batched ? d.extent(0) : 1, n = d.extent(batched ? 2 : 1);
  const Int columns = k.share(n, c.nr), parts = ceil_div(n, columns);
  const Kind packed = group == 1 ? sum : Kind(p.a.type);

  for (Int core : parallel(min(k.cores(), parts))) {
    const Tensor a_panels = k.scratch(packed, panels(c.mc, c.kc, c.mr, bytes(packed), group), core);
    const Tensor b_panels = k.scratch(packed, panels(c.nc, c.kc, c.nr, bytes(packed), group), core);
    const Tensor sums = k.scratch(sum, padded_tile(c.mc, c.nc, bytes(sum)), core);
    const Tensor edge = k.scratch(sum, padded_tile(c.mr, c.nr, bytes(sum)), core);
    const Tensor a_units = group == 1 ? a_panels : a_panels.recast(Kind::i32);
    const Tensor b_units = group == 1 ? b_panels : b_panels.recast(Kind::i32);
    const auto pack_block = [&](const Tensor& block, const Tensor& to, int panel, bool flip,
                                Where at = Where::current()) {
      if (group == 1) return pack(block, to, panel, lanes, at);
      if (group == 2) return pack_pairs(block, to, panel, lanes, at);
      pack_quads(block, to, panel, lanes, flip, at);
    };

    for (Int t : range(batch)) {
      const Tensor my_a = p.a.batched ? a.slice(0, t) : a, all_b = p.b.batched ? b.slice(0, t) : b;
      const Tensor my_b = all_b.tile({columns, all}, {core, 0});
      const Output my_d = (batched ? d.slice(0, t) : d).tile({all, columns}, {0, core});
      const Int k_blocks = max(my_b.tiles(1, c.kc), 1);  // one for k = 0, which writes what is left of an empty sum

      for (Int jc : range(my_b.tiles(0, c.nc)))
        for (Int ic : range(my_a.tiles(0, c.mc)))
          for (Int pc : range(k_blocks)) {
            const Tensor b_block = my_b.tile({c.nc, c.kc}, {jc, pc}), a_block = my_a.tile({c.mc, c.kc}, {ic, pc});
            const Output d_block = my_d.tile({c.mc, c.nc}, {ic, jc});
            pack_block(b_block, b_panels, c.nr, false);
            pack_block(a_block, a_panels, c.mr, true);
            for (Int j : range(d_block.tiles(1, c.nr)))
              for (Int i : range(d_block.tiles(0, c.mr))) {
                const Tensor a_panel = a_units.tile({c.mr, all}, {i, 0}), b_panel = b_units.tile({c.nr, all}, {j, 0});
                const Tensor sum_tile = sums.tile({c.mr, c.nr}, {i, j});
                RegisterTile acc(c.mr, c.nr, sum, lanes, edge);
                Vars<Vec> offsets(1, vectors, zero(sum, lanes));  // of bytes that were made unsigned: 128 * sum(b)
                for (Int kk : range(ceil_div(b_block.extent(1), group))) {
                  const Tensor a_k = a_panel.slice(1, kk), b_k = b_panel.slice(1, kk);
                  for (int v = 0; v < vectors; ++v) b_panel.prefetch({v * lanes, kk + 8});
                  for (int v = 0; v < vectors; ++v) {
                    const Vec b_v = b_k.load({v * lanes}, lanes);
                    if (group == 4) offsets(0, v) = dot_i8(offsets(0, v), constant(Kind::i8, 4 * lanes, -128), b_v);
                    for (int r = 0; r < c.mr; ++r) {
                      const Vec a_r = broadcast(a_k.load({r}), lanes);
                      if (group == 1) acc(r, v) = fma(a_r, b_v, acc(r, v));
                      if (group == 2) acc(r, v) = dot_bf16(acc(r, v), a_r, b_v);
                      if (group == 4) acc(r, v) = dot_i8(acc(r, v), a_r, b_v);
                    }
                  }
                }
                if (group == 4)
                  for (int r = 0; r < c.mr; ++r)
                    for (int v = 0; v < vectors; ++v) acc(r, v) = acc(r, v) - offsets(0, v);
                when(pc != 0, [&] { acc.add(sum_tile); });
                when(
                    pc == k_blocks - 1, [&] { acc.store(d_block.tile({c.mr, c.nr}, {i, j})); },
                    [&] { acc.store(sum_tile); });
              }
          }
    }
  }
}

}  // namespace gemmsmith::test
