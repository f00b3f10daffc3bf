#include "store/sqlite/checkpoint_functions.h"

#include <sqlite3.h>

#include <optional>
#include <string>
#include <string_view>

#include "store/checkpoint_codec.h"

namespace pawl::store {

namespace {

replay::Checkpoint read_checkpoint(sqlite3_value* value) {
  const void* const bytes = sqlite3_value_blob(value);
  const auto size = static_cast<std::size_t>(sqlite3_value_bytes(value));
  replay::Checkpoint checkpoint;
  const bool is_whole =
      size > 0 && decode_checkpoint({static_cast<const char*>(bytes), size}, checkpoint);
  return is_whole ? checkpoint : replay::Checkpoint();
}

// None: there is no such change.
std::optional<replay::StateChange> find_change(sqlite3_value** arguments) {
  const replay::Checkpoint checkpoint = read_checkpoint(arguments[0]);
  const auto i = static_cast<std::size_t>(sqlite3_value_int64(arguments[1]));
  return i < checkpoint.changes.size() ? std::optional(checkpoint.changes[i]) : std::nullopt;
}

void count(sqlite3_context* context, int /*count*/, sqlite3_value** arguments) {
  sqlite3_result_int64(context,
                       static_cast<std::int64_t>(read_checkpoint(arguments[0]).changes.size()));
}

void key(sqlite3_context* context, int /*count*/, sqlite3_value** arguments) {
  if (const auto change = find_change(arguments)) {
    sqlite3_result_text64(context, change->key.data(), change->key.size(), SQLITE_TRANSIENT,
                          SQLITE_UTF8);
  }
}

void value(sqlite3_context* context, int /*count*/, sqlite3_value** arguments) {
  const auto change = find_change(arguments);
  if (change.has_value() && change->value.has_value()) {
    sqlite3_result_blob64(context, change->value->data(), change->value->size(), SQLITE_TRANSIENT);
  }
}

}  // namespace

Result<void> add_checkpoint_functions(Connection& connection) {
  struct Function {
    const char* name;
    int arguments;
    void (*call)(sqlite3_context*, int, sqlite3_value**);
  };
  for (const Function& one :
       {Function{"pawl_change_count", 1, count}, Function{"pawl_change_key", 2, key},
        Function{"pawl_change_value", 2, value}}) {
    const int code = sqlite3_create_function(connection.native(), one.name, one.arguments,
                                             SQLITE_UTF8 | SQLITE_DETERMINISTIC, nullptr, one.call,
                                             nullptr, nullptr);
    if (code != SQLITE_OK) {
      return connection.error(code);
    }
  }
  return {};
}

}  // namespace pawl::store
