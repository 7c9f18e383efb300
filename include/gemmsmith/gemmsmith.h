// The C interface: C11, and C++ that wants a stable binary interface. C++ programs that are built together with the
// library use gemm.h instead.
//
//   gs_device* device = NULL;
//   gs_gemm* gemm = NULL;
//   char error[1024];
//   if (gs_device_open("cpu", NULL, &device, error, sizeof error) != GS_OK) return fail(error);
//   if (gs_gemm_create(device, "128x4096x1024 dtype=bf16 b=col", NULL, NULL, &gemm, error, sizeof error) != GS_OK) ...
//   gs_gemm_arguments arguments = {.size = sizeof arguments, .a = a, .b = b, .d = d};
//   if (gs_gemm_run(gemm, &arguments, error, sizeof error) != GS_OK) ...
//   gs_gemm_close(gemm);
//   gs_device_close(device);
//
// Errors. What can fail returns a gs_status and takes, last, a buffer of the caller's for the text: what was given, the
// limit and what would work, in one or more lines. The text always ends in a zero and is cut between characters, with
// "...", if it does not fit; 1024 bytes are plenty. It is empty after a success. Without a buffer (NULL, 0) only the
// status tells. There is no last error: nothing is kept between calls, so threads cannot mix up their errors.
//
// Memory. Operands, buffers, options and strings that go in are the caller's: the library keeps none of them after the
// call and never frees one. What comes out is in buffers of the caller's or, where its length cannot be known before,
// a string to be freed with gs_string_free, not with free. Handles are freed by their gs_..._close, which take NULL.
// After an error, what would have come out is NULL.
//
// Threads. A gs_device and a gs_dispatch may be used by any number of threads; tunings of one device take turns. A
// gs_gemm and a gs_store
// may be used by one thread at a time, whichever it is; different ones of them at the same time. Kernels run on the
// calling thread and on threads of the device's own, which end with it. Opening a device loads libraries that read the
// environment, some of which have to be configured through it: no other thread may change or read environment variables
// meanwhile. Threads of the device take no signals. After fork() the child may open devices of its own. It may use
// kernels of its parent's source "native", which then run on one thread, if no other thread of the parent was inside the
// library at the fork; those of libraries may wait for threads that are not there.
//
// Versions. Structs begin with their size, to be set to sizeof; zero is the default of every other field, so
// `gs_tune_options options = {sizeof options};` is all defaults, and so is NULL for a pointer to options. Fields are only
// ever added at the end. A program built with an older header than the library gets the defaults of fields that it does
// not know; one built with a newer header gets an error if it sets a field that the library does not know. What breaks
// this changes GS_ABI_VERSION and the name of the shared library.
//
// No exception leaves a function, and none may leave a callback.
#ifndef GEMMSMITH_GEMMSMITH_H
#define GEMMSMITH_GEMMSMITH_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define GS_CHECKED __attribute__((warn_unused_result))
#else
#define GS_CHECKED
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define GS_ABI_VERSION 0  // of this header; 0: may still change with every release

typedef int32_t gs_status;
enum {
  GS_OK = 0,
  GS_ERROR = 1,             // a problem that is malformed, refused or has no kernel; a file that cannot be read; ...
  GS_INVALID_ARGUMENT = 2,  // the call itself: a null pointer, a struct of unknown size, a number out of range
  GS_BUFFER_TOO_SMALL = 3,  // the length that it takes was stored
  GS_OUT_OF_MEMORY = 4,
  GS_INTERNAL = 5  // a bug of the library
};

typedef struct gs_device gs_device;
typedef struct gs_gemm gs_gemm;
typedef struct gs_dispatch gs_dispatch;
typedef struct gs_store gs_store;
typedef struct gs_cancel gs_cancel;

const char* gs_version(void);       // "0.1.0"; never freed
int32_t gs_abi_version(void);       // GS_ABI_VERSION of the library
void gs_string_free(char* string);  // of a string that the library returned; NULL is fine

// ---- Devices

typedef struct gs_device_options {
  size_t size;
  int32_t threads;        // 0: all cores that this process may run on
  int32_t without_peaks;  // not 0: saves the 0.3 s of measuring them; reports then have no floors
  // Folders of compiled kernels, separated by colons: the first is written to, the others are read only. "none": kernels
  // are compiled in each process. NULL: $GEMMSMITH_CACHE in the same form, else the user's cache folder.
  const char* kernel_cache;
  // Called at most once, by the thread that meets it, with the first reason why kernels cannot be kept or read; it costs
  // time, never a result. May be NULL.
  void (*warn)(const char* text, void* user);
  void* user;
} gs_device_options;

// What the cache of compiled kernels did for this device.
typedef struct gs_kernel_cache {
  size_t size;
  int64_t hits, misses;      // kernels that were found, kernels that were not
  int64_t damaged, evicted;  // files
  int64_t saved, unsaved;    // kernels that were compiled: written to a file; not, for lack of one
  int64_t found_bytes, saved_bytes;
  int64_t kernels, bytes;  // in the first folder, whoever made them
} gs_kernel_cache;

// `name` is "cpu". `options` may be NULL.
GS_CHECKED gs_status gs_device_open(const char* name, const gs_device_options* options, gs_device** device, char* error,
                                    size_t error_bytes);
// Kernels of the device go on working: what they need lives until the last of them is closed.
void gs_device_close(gs_device* device);
typedef struct gs_device_facts {
  size_t size;
  // These live as long as the device.
  const char* kind;         // "cpu"
  const char* vendor;       // "AuthenticAMD"
  const char* model;        // "AMD EPYC 9B45"
  const char* features;     // "avx2 avx512_bf16 avx512f ..."
  const char* fingerprint;  // what decides whether a stored choice still holds
  int32_t cores;            // that this process may run on
  int32_t threads;          // that kernels use
  int32_t vector_bytes;     // of the widest register that kernels use
  int32_t reserved;
  int64_t l1_bytes, l2_bytes;                              // of one core
  int64_t last_level_bytes, memory_bytes;                  // shared by all
  double peak_f32_gflops, peak_bf16_gflops, peak_i8_gops;  // measured; 0: not measured, or no instructions for it
  double read_gbytes_per_s;                                // of a stream from memory
} gs_device_facts;

// Fills in as much of `facts` as its size has room for: set that before.
GS_CHECKED gs_status gs_device_get_facts(const gs_device* device, gs_device_facts* facts, char* error,
                                         size_t error_bytes);
// Every source with its version, or why it cannot offer anything here: the "sources" of `gemmsmith doctor --json`.
GS_CHECKED gs_status gs_device_sources(const gs_device* device, char** sources_json, char* error, size_t error_bytes);
// Tuning keeps the memory of its operands for the next problem; this gives it back. gs_gemm_create does so by itself.
void gs_device_release_memory(gs_device* device);
// Fills in the fields that the caller's struct has: set its size first.
GS_CHECKED gs_status gs_device_kernel_cache(gs_device* device, gs_kernel_cache* report, char* error,
                                            size_t error_bytes);

// ---- Problems are text, "128x4096x1024 dtype=bf16 b=col epilogue=gelu(acc + bias[n])"; problem.h describes it

// Validates the problem and writes its canonical text, the same for equal problems, with a zero at the end. `text` may
// be NULL to validate only. `length`, if not NULL, gets the bytes of the text without the zero, also if `text_bytes` is
// too small for it: then nothing is written.
GS_CHECKED gs_status gs_problem_print(const char* problem, char* text, size_t text_bytes, size_t* length, char* error,
                                      size_t error_bytes);

// ---- The store: decisions and measurements in a file

// Opens or creates the file and its folder; NULL: the default one, as the command line has it; ":memory:" keeps nothing.
GS_CHECKED gs_status gs_store_open(const char* path, gs_store** store, char* error, size_t error_bytes);
void gs_store_close(gs_store* store);

// ---- Tuning

// A flag that stops tunings soon after it is set. Setting it is safe from any thread and in signal handlers. It stays
// set. It has to outlive the calls that it was given to.
GS_CHECKED gs_status gs_cancel_open(gs_cancel** cancel);
void gs_cancel_set(gs_cancel* cancel);
void gs_cancel_close(gs_cancel* cancel);

typedef struct gs_tune_progress {
  size_t size;        // of what the library filled in
  const char* phase;  // "building", "measuring", "checking"; strings live as long as the callback runs
  const char* best;   // "native gemm_packed mr=8 nr=32"; empty while there is none
  double best_us;
  double seconds, budget_seconds;
  int32_t built, measured, considered;  // candidates
  int32_t reserved;
} gs_tune_progress;

typedef struct gs_tune_options {
  size_t size;
  double budget_seconds;  // of wall time; 0: 10 s. One candidate of each source is measured even if that takes longer
  int64_t max_memory_bytes;    // for copies of the operands; 0: 2 GiB
  uint64_t seed;               // of random inputs and of the order of measuring; 0: 1
  const char* const* sources;  // names of those that may offer kernels; NULL: all
  size_t source_count;
  void (*progress)(const gs_tune_progress* progress, void* user);  // on the calling thread; has to return quickly
  void* user;
  const gs_cancel* cancel;
  int32_t retune;  // not 0: measure even if the store has a choice that holds
  int32_t reserved;
  const char* worker;  // a program that serves as worker process; NULL: the gemmsmith installed with this library
  int32_t in_process;  // not 0: run candidates in this process, where one that crashes ends it
  int32_t workers;     // processes that builds are spread over; 0: 1
} gs_tune_options;

// Finds the fastest correct kernel, and saves the report if there is a store; a stored choice that still holds is
// returned at once. `options`, `store` and `report_json` may be NULL. The report is that of `gemmsmith tune --json`. A
// tuning that was cancelled is no error: its report says "interrupted".
GS_CHECKED gs_status gs_tune(gs_device* device, const char* problem, const gs_tune_options* options, gs_store* store,
                             char** report_json, char* error, size_t error_bytes);

// ---- Kernels

// The store's choice for the problem, or a fresh tuning's. `options` and `store` may be NULL.
GS_CHECKED gs_status gs_gemm_create(gs_device* device, const char* problem, const gs_tune_options* options,
                                    gs_store* store, gs_gemm** gemm, char* error, size_t error_bytes);
// A certain candidate: source "native", config "gemm_packed mr=8 nr=32 kc=256". NULL or an empty config: the source's
// first guess.
GS_CHECKED gs_status gs_gemm_build(gs_device* device, const char* problem, const char* source, const char* config,
                                   gs_gemm** gemm, char* error, size_t error_bytes);

// Pointers to element (0,0) of batch 0. What the problem does not read may be NULL: C if beta is 0, A and B if alpha or
// k is 0.
typedef struct gs_gemm_arguments {
  size_t size;
  const void* a;
  const void* b;
  const void* c;
  void* d;                    // may not overlap anything else
  const void* const* inputs;  // of the epilogue, in the order of their first use in it
  size_t input_count;
} gs_gemm_arguments;

// Returns when D is written.
GS_CHECKED gs_status gs_gemm_run(gs_gemm* gemm, const gs_gemm_arguments* arguments, char* error, size_t error_bytes);
// What was chosen. The strings live as long as the kernel.
const char* gs_gemm_source(const gs_gemm* gemm);
const char* gs_gemm_config(const gs_gemm* gemm);
void gs_gemm_close(gs_gemm* gemm);

// One stage of one candidate of the source native: `stage` is "mlir", "llvm", "asm" or "object"; `config` as
// gs_gemm_build has it. The content ends in a zero that `content_bytes`, which may be NULL, does not count.
GS_CHECKED gs_status gs_emit(gs_device* device, const char* problem, const char* config, const char* stage,
                             char** content, size_t* content_bytes, char* error, size_t error_bytes);

// ---- One handle for a range of m: the rows of a batch of tokens change from call to call, the weight stays

typedef struct gs_dispatch_options {
  size_t size;
  int64_t min_m;              // the smallest m; 0: 1
  int32_t points_per_octave;  // at which the range is divided, from 1 to 16; 0: 2
  int32_t reserved;
  const gs_tune_options* tune;  // for each point; its callback and cancel have to outlive the handle; NULL: defaults
} gs_dispatch_options;

// `largest` is the problem with the largest m; operands of m rows are the first m rows of its own. Measures nothing yet.
// The handle opens the store's file for itself (":memory:" is one of its own). `options` and `store` may be NULL.
GS_CHECKED gs_status gs_dispatch_create(gs_device* device, const char* largest, const gs_dispatch_options* options,
                                        gs_store* store, gs_dispatch** dispatch, char* error, size_t error_bytes);
// Tunes what is not tuned yet, for one m or, for 0, for all of them.
GS_CHECKED gs_status gs_dispatch_prepare(gs_dispatch* dispatch, int64_t m, char* error, size_t error_bytes);
// Any number of threads may call it. First calls that need the same tuning wait for one of them to do it; where all is
// ready, finding the kernel is a look-up in an array. The pointers are those that the largest problem needs.
GS_CHECKED gs_status gs_dispatch_run(gs_dispatch* dispatch, int64_t m, const gs_gemm_arguments* arguments, char* error,
                                     size_t error_bytes);
// What has been measured so far: [{"first_m": 1, "last_m": 24, "source": "native", "config": "gemv mr=1 ..."}, ...].
GS_CHECKED gs_status gs_dispatch_table(const gs_dispatch* dispatch, char** table_json, char* error, size_t error_bytes);
void gs_dispatch_close(gs_dispatch* dispatch);

#ifdef __cplusplus
}
#endif
#endif
