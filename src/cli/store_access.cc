#include "cli/store_access.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>
#include <variant>

#include "store/open/open_store.h"
#include "store/sqlite/sqlite_store.h"

namespace pawl::cli {

namespace {

// A person is waiting.
constexpr std::int64_t kBusyTimeoutMs = 5000;

Result<std::unique_ptr<store::Store>> opened(const store::SqliteOptions& options) {
  auto store = store::open_sqlite(options);
  if (!store && store.error().code == ErrorCode::kStoreBusy) {
    return make_error(ErrorCode::kStoreBusy,
                      "the database '" + options.path +
                          "' is locked by another process; it was not free within " +
                          std::to_string(options.busy_timeout_ms) + " ms, try again");
  }
  return store;
}

}  // namespace

std::string store_url(const Shared& shared) {
  if (!shared.store.empty()) {
    return shared.store;
  }
  const char* const variable = std::getenv("PAWL_STORE");
  return variable != nullptr && *variable != '\0' ? variable : std::string(kDefaultStore);
}

namespace {

Result<std::unique_ptr<store::Store>> open_file(const Shared& shared, store::SqliteOptions options,
                                                Access access) {
  std::error_code error;
  const std::filesystem::file_status there = std::filesystem::status(options.path, error);
  if (!std::filesystem::exists(there)) {
    return make_error(
        ErrorCode::kStoreUnusable,
        "there is no file '" + options.path + "'" +
            (shared.store.empty() ? "; name the store by --store or PAWL_STORE" : ""));
  }
  if (!std::filesystem::is_regular_file(there)) {  // To open a pipe is to wait for who writes.
    return make_error(ErrorCode::kStoreUnusable,
                      "'" + options.path + "' is " +
                          (std::filesystem::is_directory(there) ? "a directory" : "no file") +
                          "; name the file of a database");
  }
  options.read_only = true;  // Finds what is wrong with the file before anything is written.
  auto looked = opened(options);
  if (access == Access::kLook || !looked) {
    return looked;
  }
  options.read_only = false;
  return opened(options);
}

}  // namespace

Result<std::unique_ptr<store::Store>> open_store(const Shared& shared, Access access,
                                                 const std::optional<std::string>& name_space) {
  const std::string url = store_url(shared);
  PAWL_TRY_ASSIGN(store::StoreUrl parsed, store::parse_store_url(url));
  if (name_space.has_value()) {
    std::visit([&](auto& options) { options.name_space = *name_space; }, parsed);
  }
  if (auto* const postgres = std::get_if<store::PostgresOptions>(&parsed)) {
    postgres->creates = false;
    return store::open_store(parsed);
  }
  auto& sqlite = std::get<store::SqliteOptions>(parsed);
  if (url.find("busy_timeout_ms=") == std::string::npos) {
    sqlite.busy_timeout_ms = kBusyTimeoutMs;
  }
  return open_file(shared, std::move(sqlite), access);
}

}  // namespace pawl::cli
