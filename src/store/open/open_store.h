// Opening any kind of store by its URL.
#pragma once

#include <memory>
#include <string_view>
#include <variant>

#include "base/result.h"
#include "store/movable_store.h"
#include "store/postgres/options.h"
#include "store/sqlite/options.h"
#include "store/store.h"

namespace pawl::store {

using StoreUrl = std::variant<SqliteOptions, PostgresOptions>;

// `sqlite:…`, `postgres://…` or `postgresql://…`. kInvalidArgument names the URL, without its
// password; kStoreUnusable: no store of that kind can be opened here.
Result<StoreUrl> parse_store_url(std::string_view url);

// kStoreUnusable also if this build has no store of that kind.
Result<std::unique_ptr<Store>> open_store(const StoreUrl& url);
// The same store, for who moves what is in it.
Result<std::unique_ptr<MovableStore>> open_movable_store(const StoreUrl& url);

}  // namespace pawl::store
