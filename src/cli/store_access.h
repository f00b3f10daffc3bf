// Opening the store that a command is about. No command makes a database or a namespace, nor does
// it bring the tables of an older Pawl up to date: a wrong path is an error, and engines do the
// rest.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "cli/console.h"
#include "store/store.h"

namespace pawl::cli {

enum class Access : std::uint8_t {
  kLook,  // Nothing is written, and no right to write is needed.
  kChange,
};

// The URL that --store, PAWL_STORE or the default names.
std::string store_url(const Shared& shared);
// Waits some seconds for a database that is locked, unless the URL says how long.
Result<std::unique_ptr<store::Store>> open_store(const Shared& shared, Access access);
// The same; from then on the console goes by the clock of the database.
Result<std::unique_ptr<store::Store>> open_store(Console& console, Access access);

}  // namespace pawl::cli
