// How a SQLite store is opened, and the URL form of that. Value types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "store/change_signal.h"

namespace pawl::store {

enum class Durability : std::uint8_t {
  kPower,    // What is committed survives a power failure.
  kProcess,  // It survives the end of the process; a power failure may take the last commits back.
};

struct SqliteOptions {
  std::string path;  // Of a file; made if it is not there.
  // For who only looks: the file with its tables and the namespace have to be there, nothing is
  // made or migrated, and writes are refused. Needs no right to write to the file or its directory.
  bool read_only = false;
  std::string name_space = "default";
  Durability durability = Durability::kPower;
  std::int64_t busy_timeout_ms = 10'000;                   // Then kStoreBusy.
  std::size_t payload_bytes_max = std::size_t{64} << 20U;  // At most kPayloadBytesLimit.
  // How other stores learn of changes. None: by a file beside the database.
  std::shared_ptr<ChangeSignal> signal;
  std::string vfs;  // Of SQLite; empty: the default one.
};

// What SQLite can hold in one value, with room for the rest of the row.
inline constexpr std::size_t kPayloadBytesLimit = 900'000'000;

// Reads `sqlite:app.db?durability=process&namespace=shop`. Parameters: durability (power, process),
// namespace, busy_timeout_ms, payload_bytes_max. %XX stands for a byte, in path and values.
// kInvalidArgument says what is wrong.
Result<SqliteOptions> parse_sqlite_url(std::string_view url);

}  // namespace pawl::store
