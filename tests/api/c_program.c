// A program in C11 over gemmsmith.h, for c_api_test.cpp: device facts, stages of a kernel, one handle for a range of m.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gemmsmith/gemmsmith.h"

enum { kLargestM = 8, kN = 16, kK = 4 };

// D = A * ones, so that each element of row i is the sum of row i of A, 4 * i + 6 for A[i][j] = i + j.
static int multiply(gs_dispatch* dispatch, int m, char* error, size_t error_bytes) {
  float a[kLargestM][kK], b[kK][kN], d[kLargestM][kN];
  for (int i = 0; i < kLargestM; ++i)
    for (int j = 0; j < kK; ++j) a[i][j] = (float)(i + j);
  for (int i = 0; i < kK; ++i)
    for (int j = 0; j < kN; ++j) b[i][j] = 1;
  memset(d, 0, sizeof d);
  const gs_gemm_arguments arguments = {.size = sizeof arguments, .a = a, .b = b, .d = d};
  if (gs_dispatch_run(dispatch, m, &arguments, error, error_bytes) != GS_OK) return 0;
  for (int i = 0; i < kLargestM; ++i)
    for (int j = 0; j < kN; ++j)
      if (d[i][j] != (i < m ? (float)(4 * i + 6) : 0)) {
        snprintf(error, error_bytes, "m = %d: d[%d][%d] = %g", m, i, j, (double)d[i][j]);
        return 0;
      }
  return 1;
}

static int dispatch(gs_device* device, char* error, size_t error_bytes) {
  const char* const sources[] = {"native"};
  const gs_tune_options tune = {.size = sizeof tune, .budget_seconds = 0.05, .sources = sources, .source_count = 1};
  const gs_dispatch_options options = {.size = sizeof options, .points_per_octave = 1, .tune = &tune};
  gs_dispatch* handle = NULL;
  if (gs_dispatch_create(device, "8x16x4 dtype=f32", &options, NULL, &handle, error, error_bytes) != GS_OK) return 0;
  char* table = NULL;
  const int right = multiply(handle, 1, error, error_bytes) && multiply(handle, 5, error, error_bytes) &&
                    multiply(handle, 8, error, error_bytes) &&
                    gs_dispatch_prepare(handle, 0, error, error_bytes) == GS_OK &&
                    gs_dispatch_table(handle, &table, error, error_bytes) == GS_OK;
  if (right && (!strstr(table, "\"first_m\": 1,") || !strstr(table, "\"last_m\": 8,")))
    snprintf(error, error_bytes, "the table is %s", table);
  gs_string_free(table);
  gs_dispatch_close(handle);
  return right && !*error;
}

// Empty if all is right.
void run_c_program(char* error, size_t error_bytes);
void run_c_program(char* error, size_t error_bytes) {
  const gs_device_options options = {.size = sizeof options, .threads = 1, .without_peaks = 1};
  gs_device* device = NULL;
  if (gs_device_open("cpu", &options, &device, error, error_bytes) != GS_OK) return;
  gs_device_facts facts = {.size = sizeof facts};
  char* assembly = NULL;
  size_t bytes = 0;
  if (gs_device_get_facts(device, &facts, error, error_bytes) == GS_OK &&
      gs_emit(device, "8x16x4 dtype=f32", NULL, "asm", &assembly, &bytes, error, error_bytes) == GS_OK &&
      dispatch(device, error, error_bytes)) {
    if (strcmp(facts.kind, "cpu") != 0 || facts.threads != 1 || strlen(facts.fingerprint) == 0)
      snprintf(error, error_bytes, "a device of kind %s with %d threads", facts.kind, (int)facts.threads);
    if (strlen(assembly) != bytes || !strstr(assembly, ".text"))
      snprintf(error, error_bytes, "%zu bytes of assembly: %.100s", bytes, assembly);
  }
  gs_string_free(assembly);
  gs_device_close(device);
}
