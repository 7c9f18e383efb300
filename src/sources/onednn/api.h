// The library's C functions, found at run time. Types and prototypes are its header's, of major version 2.
#pragma once
#if __has_include(<oneapi/dnnl/dnnl.h>)
#include <oneapi/dnnl/dnnl.h>
#if DNNL_VERSION_MAJOR == 2
#define GEMMSMITH_HAVE_ONEDNN 1
#endif
#endif

#ifdef GEMMSMITH_HAVE_ONEDNN
#include <memory>
#include <string>

#include "gemmsmith/result.h"
#include "sources/onednn/onednn_source.h"

namespace gemmsmith::onednn {

// clang-format off: one a line, which clang-format folds differently each time
#define GEMMSMITH_ONEDNN_FUNCTIONS(X) \
  X(version) \
  X(engine_create) \
  X(engine_destroy) \
  X(stream_create) \
  X(stream_destroy) \
  X(stream_wait) \
  X(memory_desc_init_by_strides) \
  X(memory_create) \
  X(memory_destroy) \
  X(memory_set_data_handle) \
  X(matmul_desc_init) \
  X(primitive_attr_create) \
  X(primitive_attr_destroy) \
  X(primitive_attr_set_output_scales) \
  X(primitive_attr_set_post_ops) \
  X(post_ops_create) \
  X(post_ops_destroy) \
  X(post_ops_append_sum) \
  X(post_ops_append_eltwise) \
  X(post_ops_append_binary) \
  X(primitive_desc_create) \
  X(primitive_desc_destroy) \
  X(primitive_desc_query) \
  X(primitive_create) \
  X(primitive_destroy) \
  X(primitive_execute)
// clang-format on

// The functions, an engine for this CPU and a stream. Never unloaded: OpenMP keeps threads in it.
class Api {
 public:
  static Result<std::shared_ptr<const Api>> open(const OneDnnOptions&);
  ~Api();
  Api(const Api&) = delete;
  Api& operator=(const Api&) = delete;

  std::string version() const;  // "2.6.3 omp"
  void set_threads(
      int threads) const;  // of the calling thread's parallel regions; without OpenMP there is no such setting
  dnnl_engine_t engine() const { return engine_; }
  dnnl_stream_t stream() const { return stream_; }

#define GEMMSMITH_DECLARE(name) decltype(&dnnl_##name) name##_f = nullptr;
  GEMMSMITH_ONEDNN_FUNCTIONS(GEMMSMITH_DECLARE)
#undef GEMMSMITH_DECLARE

 private:
  Api() = default;
  dnnl_engine_t engine_ = nullptr;
  dnnl_stream_t stream_ = nullptr;
  void (*omp_set_num_threads_)(int) = nullptr;
};

// "unimplemented", "invalid_arguments": the library's own words.
std::string_view name_of(dnnl_status_t);

}  // namespace gemmsmith::onednn
#endif
