// What the tests of connections share.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "postgres/server.h"
#include "store/postgres/batch.h"
#include "store/postgres/connection.h"
#include "store/postgres/options.h"

namespace pawl::store::pg {

using pawl::testing::PostgresServer;

inline PostgresOptions options_of(const std::string& url) {
  Result<PostgresOptions> options = parse_postgres_url(url);
  EXPECT_TRUE(options.has_value()) << options.error().message;
  return options ? *options : PostgresOptions{};
}

inline std::unique_ptr<Connection> connect(const std::string& url) {
  Result<std::unique_ptr<Connection>> connection = Connection::open(options_of(url));
  if (!connection) {
    throw std::runtime_error(connection.error().message);
  }
  return std::move(*connection);
}

// Of a call that has to fail.
template <typename T>
Error error_of(const Result<T>& result) {
  EXPECT_FALSE(result.has_value());
  return result ? Error{} : result.error();
}

#define EXPECT_OK(expr)                                                \
  do {                                                                 \
    const auto expect_ok_result = (expr);                              \
    EXPECT_TRUE(expect_ok_result.has_value())                          \
        << (expect_ok_result ? "" : expect_ok_result.error().message); \
  } while (false)

// Looks until it is so, for a minute at most.
inline bool comes_true(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) {
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

inline bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace pawl::store::pg
