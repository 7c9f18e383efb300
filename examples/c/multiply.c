// One layer of a network with a gated activation: D = silu(A * B + bias) * gate, in one kernel.
//   multiply [STORE]      STORE: a file that remembers what was chosen
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "gemmsmith/gemmsmith.h"

enum { M = 48, N = 160, K = 96 };

// b=col: B is stored n x k, as weights often are. Names in the epilogue are its inputs: bias has one number a column,
// gate one for each element of D.
static const char* const kProblem = "48x160x96 dtype=f32 b=col epilogue=silu(acc + bias[n]) * gate[m,n]";

static float a[M * K], b[N * K], bias[N], gate[M * N], d[M * N];

static void fill(float* out, size_t count, size_t step) {
  for (size_t i = 0; i < count; ++i) out[i] = (float)((int)(i * step % 17) - 8) / 8;
}

static double largest_error(void) {
  double worst = 0;
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < N; ++j) {
      double sum = bias[j];
      for (int k = 0; k < K; ++k) sum += (double)a[i * K + k] * (double)b[j * K + k];
      const double expected = sum / (1 + exp(-sum)) * (double)gate[i * N + j];
      worst = fmax(worst, fabs(expected - (double)d[i * N + j]));
    }
  return worst;
}

// Called while it tunes, on this thread.
static void show(const gs_tune_progress* progress, void* user) {
  int32_t* measured = user;
  if (progress->measured == *measured) return;
  *measured = progress->measured;
  printf("%d of %d candidates; best: %s\n", (int)progress->measured, (int)progress->considered, progress->best);
}

int main(int argc, char** argv) {
  int code = EXIT_FAILURE;
  gs_device* device = NULL;
  gs_store* store = NULL;
  gs_gemm* gemm = NULL;
  char error[1024] = "";  // every call that can fail writes here why

  if (gs_device_open("cpu", NULL, &device, error, sizeof error) != GS_OK) goto end;
  if (gs_store_open(argc > 1 ? argv[1] : ":memory:", &store, error, sizeof error) != GS_OK) goto end;

  // The choice of the store, or of a tuning that takes about as long as it may. Fields that are not named are defaults.
  int32_t measured = 0;
  const gs_tune_options options = {.size = sizeof options, .budget_seconds = 0.5, .progress = show, .user = &measured};
  if (gs_gemm_create(device, kProblem, &options, store, &gemm, error, sizeof error) != GS_OK) goto end;
  printf("gemmsmith %s, %d candidates measured: %s %s\n", gs_version(), (int)measured, gs_gemm_source(gemm),
         gs_gemm_config(gemm));

  fill(a, M * K, 5);
  fill(b, N * K, 7);
  fill(bias, N, 3);
  fill(gate, M * N, 11);
  const void* const inputs[] = {bias, gate};  // in the order of their first use in the epilogue
  const gs_gemm_arguments arguments = {
      .size = sizeof arguments, .a = a, .b = b, .d = d, .inputs = inputs, .input_count = 2};
  if (gs_gemm_run(gemm, &arguments, error, sizeof error) != GS_OK) goto end;

  printf("largest error: %g\n", largest_error());
  if (largest_error() < 1e-4) code = EXIT_SUCCESS;

end:
  if (error[0] != '\0') fprintf(stderr, "%s\n", error);
  gs_gemm_close(gemm);  // in any order: what they share lives as long as the last of them
  gs_store_close(store);
  gs_device_close(device);
  return code;
}
