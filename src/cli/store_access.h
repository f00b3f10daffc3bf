// Opening the store that a command is about. No command makes a database or a namespace, nor does
// it bring the tables of an older Pawl up to date: a wrong path is an error, and engines do the
// rest.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "cli/console.h"
#include "store/movable_store.h"
#include "store/store.h"

namespace pawl::cli {

enum class Access : std::uint8_t {
  kLook,    // Nothing is written, and no right to write is needed.
  kChange,  // Refused if the namespace is closed, see store/seal.h.
};

// The URL that --store, PAWL_STORE or the default names.
std::string store_url(const Shared& shared);
// Waits some seconds for a database that is locked, unless the URL says how long.
// `name_space`: another one than the URL says.
Result<std::unique_ptr<store::Store>> open_store(const Shared& shared, Access access,
                                                 const std::optional<std::string>& name_space = {});
// The same; from then on the console goes by the clock of the database.
Result<std::unique_ptr<store::Store>> open_store(Console& console, Access access);

enum class MoveSide : std::uint8_t {
  kSource,  // Has to be there.
  kTarget,  // Is made.
};

// For `pawl migrate`: also a store that is closed to programs.
Result<std::unique_ptr<store::MovableStore>> open_to_move(const std::string& url, MoveSide side);
// What a URL names, for people and to be kept: without a password, a file by its full path.
Result<std::string> store_place(const std::string& url);

}  // namespace pawl::cli
