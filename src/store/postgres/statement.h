// Statement: SQL text with a name. A constant: it is shared by all connections, each of which
// prepares it on first use. Value type.
//
//   inline constexpr Statement kSetWake{"set_wake",
//       "UPDATE {schema}.runs SET wake_ms = $2 WHERE run = $1::int8"};
//
// {schema} becomes the quoted schema of the connection's options. Parameters have the types that
// the SQL gives them, never those of the values that are bound; where the context does not say, or
// says another one than is bound, cast: $1::int8, unnest($2::bytea[]).
#pragma once

#include <string_view>

namespace pawl::store::pg {

struct Statement {
  // One name for one text. Empty: for texts made as needed; parsed anew each time. Both texts must
  // outlive every connection that has seen a named statement; literals do.
  std::string_view name;
  std::string_view sql;
};

}  // namespace pawl::store::pg
