// Defines the functions of libpq that the PostgreSQL store calls; each calls libpq.so.5's own. The
// linker says which ones are missing in the list.
#include <dlfcn.h>

#include <cstddef>
#include <mutex>
#include <string>
#include <tuple>

#include <libpq-fe.h>

#include "store/libpq/libpq.h"

// Names are libpq's, and macros declare.
// NOLINTBEGIN(readability-identifier-naming, bugprone-macro-parentheses)

// Of each function the name and the number of its parameters.
// clang-format off
#define PAWL_LIBPQ_FUNCTIONS(of) \
  of(PQclear, 1)                   \
  of(PQcmdStatus, 1)               \
  of(PQcmdTuples, 1)               \
  of(PQconnectPoll, 1)             \
  of(PQconnectStartParams, 3)      \
  of(PQconnectdbParams, 3)         \
  of(PQconnectionNeedsPassword, 1) \
  of(PQconninfoFree, 1)            \
  of(PQconninfoParse, 2)           \
  of(PQconsumeInput, 1)            \
  of(PQdb, 1)                      \
  of(PQenterPipelineMode, 1)       \
  of(PQerrorMessage, 1)            \
  of(PQescapeLiteral, 3)           \
  of(PQexec, 2)                    \
  of(PQexecParams, 8)              \
  of(PQexitPipelineMode, 1)        \
  of(PQfinish, 1)                  \
  of(PQflush, 1)                   \
  of(PQfreemem, 1)                 \
  of(PQftype, 2)                   \
  of(PQgetResult, 1)               \
  of(PQgetisnull, 3)               \
  of(PQgetlength, 3)               \
  of(PQgetvalue, 3)                \
  of(PQgssEncInUse, 1)             \
  of(PQhost, 1)                    \
  of(PQisBusy, 1)                  \
  of(PQnfields, 1)                 \
  of(PQnotifies, 1)                \
  of(PQntuples, 1)                 \
  of(PQparameterStatus, 2)         \
  of(PQpipelineSync, 1)            \
  of(PQport, 1)                    \
  of(PQresultErrorField, 2)        \
  of(PQresultErrorMessage, 1)      \
  of(PQresultStatus, 1)            \
  of(PQsendPrepare, 5)             \
  of(PQsendQueryParams, 8)         \
  of(PQsendQueryPrepared, 7)       \
  of(PQserverVersion, 1)           \
  of(PQsetErrorVerbosity, 2)       \
  of(PQsetNoticeReceiver, 3)       \
  of(PQsetnonblocking, 2)          \
  of(PQsocket, 1)                  \
  of(PQsslInUse, 1)                \
  of(PQstatus, 1)                  \
  of(PQtransactionStatus, 1)
// clang-format on

namespace {

template <typename Function>
struct Signature;
template <typename Returned, typename... Parameters>
struct Signature<Returned(Parameters...)> {
  using Result = Returned;
  template <std::size_t kIndex>
  using Parameter = std::tuple_element_t<kIndex, std::tuple<Parameters...>>;
};

#define PAWL_LIBPQ_POINTER(name, parameters) decltype(&::name) name = nullptr;
struct Libpq {
  PAWL_LIBPQ_FUNCTIONS(PAWL_LIBPQ_POINTER)
};
#undef PAWL_LIBPQ_POINTER

// Whole or empty. Written once, before anyone that load_libpq() has let pass calls.
Libpq libpq;

}  // namespace

// A function that is declared otherwise in libpq-fe.h does not compile.
#define PAWL_P(name, index) Signature<decltype(::name)>::Parameter<index> p##index
#define PAWL_PARAMETERS_1(name) PAWL_P(name, 0)
#define PAWL_PARAMETERS_2(name) PAWL_PARAMETERS_1(name), PAWL_P(name, 1)
#define PAWL_PARAMETERS_3(name) PAWL_PARAMETERS_2(name), PAWL_P(name, 2)
#define PAWL_PARAMETERS_4(name) PAWL_PARAMETERS_3(name), PAWL_P(name, 3)
#define PAWL_PARAMETERS_5(name) PAWL_PARAMETERS_4(name), PAWL_P(name, 4)
#define PAWL_PARAMETERS_6(name) PAWL_PARAMETERS_5(name), PAWL_P(name, 5)
#define PAWL_PARAMETERS_7(name) PAWL_PARAMETERS_6(name), PAWL_P(name, 6)
#define PAWL_PARAMETERS_8(name) PAWL_PARAMETERS_7(name), PAWL_P(name, 7)
#define PAWL_ARGUMENTS_1 p0
#define PAWL_ARGUMENTS_2 PAWL_ARGUMENTS_1, p1
#define PAWL_ARGUMENTS_3 PAWL_ARGUMENTS_2, p2
#define PAWL_ARGUMENTS_4 PAWL_ARGUMENTS_3, p3
#define PAWL_ARGUMENTS_5 PAWL_ARGUMENTS_4, p4
#define PAWL_ARGUMENTS_6 PAWL_ARGUMENTS_5, p5
#define PAWL_ARGUMENTS_7 PAWL_ARGUMENTS_6, p6
#define PAWL_ARGUMENTS_8 PAWL_ARGUMENTS_7, p7
#define PAWL_LIBPQ_FORWARD(name, parameters)                                     \
  Signature<decltype(::name)>::Result name(PAWL_PARAMETERS_##parameters(name)) { \
    return libpq.name(PAWL_ARGUMENTS_##parameters);                              \
  }

extern "C" {
PAWL_LIBPQ_FUNCTIONS(PAWL_LIBPQ_FORWARD)
}

namespace pawl::store {

namespace {

Error unusable(const std::string& why) {
  return make_error(ErrorCode::kStoreUnusable,
                    "a PostgreSQL store needs libpq 14 or later, PostgreSQL's client library (on "
                    "Debian: apt-get install libpq5): " +
                        why);
}

}  // namespace

Result<void> load_libpq() {
  static std::mutex mutex;
  const std::scoped_lock lock(mutex);
  if (libpq.PQclear != nullptr) {
    return {};
  }
  void* const library = dlopen("libpq.so.5", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return unusable(dlerror());
  }
  Libpq found;
  const char* missing = nullptr;
#define PAWL_LIBPQ_FIND(name, parameters)                                  \
  found.name = reinterpret_cast<decltype(&::name)>(dlsym(library, #name)); \
  if (found.name == nullptr && missing == nullptr) {                       \
    missing = #name;                                                       \
  }
  PAWL_LIBPQ_FUNCTIONS(PAWL_LIBPQ_FIND)
#undef PAWL_LIBPQ_FIND
  if (missing != nullptr) {
    dlclose(library);
    return unusable("libpq.so.5 of this machine has no " + std::string(missing));
  }
  libpq = found;
  return {};
}

}  // namespace pawl::store

// NOLINTEND(readability-identifier-naming, bugprone-macro-parentheses)
