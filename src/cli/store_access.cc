#include "cli/store_access.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>
#include <variant>

#include "store/open/open_store.h"
#include "store/seal.h"
#include "store/sqlite/sqlite_store.h"
#include "store/url.h"

namespace pawl::cli {

namespace {

// A person is waiting.
constexpr std::int64_t kBusyTimeoutMs = 5000;

using Opened = Result<std::unique_ptr<store::MovableStore>>;

Opened opened(const store::SqliteOptions& options) {
  auto store = store::open_movable_sqlite(options);
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

// `hint`: what to do if there is no such file.
Opened open_file(store::SqliteOptions options, Access access, const std::string& hint) {
  std::error_code error;
  const std::filesystem::file_status there = std::filesystem::status(options.path, error);
  if (!std::filesystem::exists(there)) {
    return make_error(ErrorCode::kStoreUnusable, "there is no file '" + options.path + "'" + hint);
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

void set_patience(const std::string& url, store::SqliteOptions& options) {
  if (url.find("busy_timeout_ms=") == std::string::npos) {
    options.busy_timeout_ms = kBusyTimeoutMs;
  }
}

Opened open_existing(const std::string& url, store::StoreUrl parsed, Access access,
                     const std::string& hint) {
  if (auto* const postgres = std::get_if<store::PostgresOptions>(&parsed)) {
    postgres->creates = false;
    return store::open_movable_store(parsed);
  }
  auto& sqlite = std::get<store::SqliteOptions>(parsed);
  set_patience(url, sqlite);
  return open_file(std::move(sqlite), access, hint);
}

}  // namespace

Result<std::unique_ptr<store::Store>> open_store(const Shared& shared, Access access,
                                                 const std::optional<std::string>& name_space) {
  const std::string url = store_url(shared);
  PAWL_TRY_ASSIGN(store::StoreUrl parsed, store::parse_store_url(url));
  if (name_space.has_value()) {
    std::visit([&](auto& options) { options.name_space = *name_space; }, parsed);
  }
  const std::string hint = shared.store.empty() ? "; name the store by --store or PAWL_STORE" : "";
  PAWL_TRY_ASSIGN(std::unique_ptr<store::MovableStore> store,
                  open_existing(url, std::move(parsed), access, hint));
  if (access == Access::kChange) {
    PAWL_TRY_ASSIGN(const std::string seal, store->read_seal());
    if (!seal.empty()) {
      return make_error(ErrorCode::kStoreUnusable, store::seal_sentence(seal));
    }
  }
  return std::unique_ptr<store::Store>(std::move(store));
}

Opened open_to_move(const std::string& url, MoveSide side) {
  PAWL_TRY_ASSIGN(store::StoreUrl parsed, store::parse_store_url(url));
  if (side == MoveSide::kSource) {
    return open_existing(url, std::move(parsed), Access::kChange, "");
  }
  if (auto* const sqlite = std::get_if<store::SqliteOptions>(&parsed)) {
    set_patience(url, *sqlite);
    return opened(*sqlite);
  }
  return store::open_movable_store(parsed);
}

Result<std::string> store_place(const std::string& url) {
  PAWL_TRY_ASSIGN(const store::StoreUrl parsed, store::parse_store_url(url));
  if (const auto* const sqlite = std::get_if<store::SqliteOptions>(&parsed)) {
    std::error_code error;
    const std::filesystem::path path = std::filesystem::weakly_canonical(sqlite->path, error);
    return "sqlite:" + (error ? sqlite->path : path.string()) +
           (sqlite->name_space == "default" ? "" : "?namespace=" + sqlite->name_space);
  }
  return store::without_password(url);
}

Result<std::unique_ptr<store::Store>> open_store(Console& console, Access access) {
  PAWL_TRY_ASSIGN(auto store, open_store(console.shared(), access));
  PAWL_TRY_ASSIGN(const std::optional<std::int64_t> now_ms, store->read_clock());
  if (now_ms) {
    console.set_clock(*now_ms);
  }
  return store;
}

}  // namespace pawl::cli
