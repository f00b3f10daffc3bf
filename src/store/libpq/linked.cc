#include "store/libpq/libpq.h"

namespace pawl::store {

Result<void> load_libpq() { return {}; }

}  // namespace pawl::store
