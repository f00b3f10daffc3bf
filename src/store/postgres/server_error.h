// What the server's error codes (SQLSTATE) mean to Pawl. Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace pawl::store::pg {

// Empty: no code, since the connection was lost or could not be made.
ErrorCode meaning_of(std::string_view sqlstate);

// "; what to do", or nothing.
std::string_view advice_for(std::string_view sqlstate);

// Whether the server ends the connection after such an error.
bool ends_connection(std::string_view sqlstate);

// libpq's messages have several lines, and a code and a place in the server's source if asked for:
// one line without them.
std::string one_line(std::string_view message);

}  // namespace pawl::store::pg
