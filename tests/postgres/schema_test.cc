// How the tables of a PostgreSQL store come to be, and come to be newer.
#include "store/postgres/schema.h"

#include <barrier>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "postgres/support.h"
#include "store/postgres/postgres_store.h"

namespace pawl::store::pg {
namespace {

using ::testing::HasSubstr;

class SchemaTest : public ::testing::Test {
 protected:
  static PostgresServer& server() {
    static PostgresServer started;
    return started;
  }
  void SetUp() override {
    server().execute("SET client_min_messages = warning; DROP SCHEMA IF EXISTS pawl CASCADE");
  }
  static std::string versions() {
    return server().query(
        "SELECT string_agg(version::text, ' ' ORDER BY version) FROM pawl.pawl_schema");
  }
  static bool has_schema() {
    return server().query("SELECT count(*) FROM pg_namespace WHERE nspname = 'pawl'") == "1";
  }
};

std::string all_versions() {
  std::string text;
  for (std::int64_t version = 1; version <= schema_version(); ++version) {
    text += (text.empty() ? "" : " ") + std::to_string(version);
  }
  return text;
}

TEST_F(SchemaTest, StepsAreDoneInOrderAndOnce) {
  const auto connection = connect(server().url());
  const std::vector<std::string_view> steps = {"CREATE TABLE {schema}.a(x int);",
                                               "INSERT INTO {schema}.a VALUES(1);",
                                               "UPDATE {schema}.a SET x = x + 1;"};
  // What teaches the planner belongs to the real tables.
  EXPECT_OK(migrate(*connection, schema_steps()));
  EXPECT_EQ(versions(), all_versions());
  std::vector<std::string_view> more(schema_steps().begin(), schema_steps().end());
  more.insert(more.end(), steps.begin(), steps.end());
  EXPECT_OK(migrate(*connection, more));
  EXPECT_OK(migrate(*connection, more));
  EXPECT_EQ(server().query("SELECT x FROM pawl.a"), "2");
}

// From each earlier version, with a run that waits and one that is due.
TEST_F(SchemaTest, OpenRunsGoOnFromEveryVersion) {
  for (std::size_t from = 1; from <= schema_steps().size(); ++from) {
    SCOPED_TRACE(from);
    SetUp();
    EXPECT_OK(migrate(*connect(server().url()), schema_steps().first(from)));
    server().execute(
        "INSERT INTO pawl.pawl_namespace(name) VALUES('default');"
        "INSERT INTO pawl.pawl_run(ns, key, epoch, status, wake, number, created, changed, uuid, "
        "id, kind, waiting_for) VALUES"
        "(0, nextval('pawl.pawl_run_key'), 3, 2, NULL, 1, 10, 20, gen_random_uuid(), 'waits', "
        "'order', 'signal go'),"
        "(0, nextval('pawl.pawl_run_key'), 0, 1, 30, 1, 30, 30, gen_random_uuid(), 'due', 'order', "
        "NULL);"
        "INSERT INTO pawl.pawl_input VALUES(0, 1, '{\"item\":\"lamp\"}');"
        "INSERT INTO pawl.pawl_log(ns, run, seq, kind, time, version, name, payload) VALUES"
        "(0, 1, 1, 8, 10, 1, 'stage', '\"new\"')");
    Result<std::unique_ptr<Store>> store = open_postgres(options_of(server().url()));
    ASSERT_TRUE(store.has_value()) << store.error().message;
    EXPECT_EQ(versions(), all_versions());
    EXPECT_EQ(server().query("SELECT value FROM pawl.pawl_state WHERE id = 'waits'"), "\"new\"");
    EXPECT_EQ(server().query("SELECT input FROM pawl.pawl_runs WHERE id = 'waits'"),
              R"({"item":"lamp"})");
    Send sent;
    sent.run_id = "waits";
    sent.arrival.kind = static_cast<std::uint8_t>(replay::EntryKind::kSignalReceived);
    sent.arrival.name = "go";
    sent.now_ms = 50;
    ClaimDue claim;
    claim.kinds = {"order"};
    claim.limit = 5;
    claim.now_ms = 60;
    const Result<WorkerKey> worker = (*store)->add_worker({"worker", kNever, 0});
    ASSERT_TRUE(worker.has_value());
    claim.worker = *worker;
    std::vector<Op> ops = {sent, claim};
    EXPECT_OK((*store)->apply(ops));
    EXPECT_EQ(std::get<ClaimDue>(ops[1]).claims.size(), 2U);
  }
}

TEST_F(SchemaTest, TwoAtOnceDoItOnce) {
  for (std::size_t from = 0; from < schema_steps().size(); ++from) {
    SCOPED_TRACE(from);
    SetUp();
    if (from > 0) {
      EXPECT_OK(migrate(*connect(server().url()), schema_steps().first(from)));
    }
    constexpr int kCount = 4;
    std::barrier start(kCount);
    std::vector<std::thread> threads;
    std::vector<std::string> errors(kCount);
    for (int i = 0; i < kCount; ++i) {
      threads.emplace_back([&, i] {
        const auto connection = connect(server().url());
        start.arrive_and_wait();
        const Result<void> done = migrate(*connection);
        errors[static_cast<std::size_t>(i)] = done ? "" : done.error().message;
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    EXPECT_THAT(errors, ::testing::Each(""));
    EXPECT_EQ(versions(), all_versions());
  }
}

TEST_F(SchemaTest, WhatFailsLeavesNothing) {
  std::vector<std::string_view> steps(schema_steps().begin(), schema_steps().end());
  steps.emplace_back("CREATE TABLE {schema}.a(x int); SELECT 1 / 0;");
  const auto connection = connect(server().url());
  EXPECT_THAT(error_of(migrate(*connection, steps)).message, HasSubstr("division by zero"));
  EXPECT_FALSE(has_schema());
  EXPECT_OK(migrate(*connection, schema_steps().first(1)));
  EXPECT_THAT(error_of(migrate(*connection, steps)).message, HasSubstr("division by zero"));
  EXPECT_EQ(versions(), "1");
  EXPECT_EQ(server().query("SELECT to_regclass('pawl.pawl_runs') IS NULL"), "t");
  EXPECT_OK(migrate(*connection));
  EXPECT_EQ(versions(), all_versions());
}

// The process, or its connection, ends in the middle.
TEST_F(SchemaTest, WhoDiesLeavesNothing) {
  std::vector<std::string_view> steps(schema_steps().begin(), schema_steps().end());
  steps.emplace_back(
      "CREATE TABLE {schema}.a(x int); SELECT pg_terminate_backend(pg_backend_pid());");
  EXPECT_OK(migrate(*connect(server().url()), schema_steps().first(1)));
  EXPECT_THAT(error_of(migrate(*connect(server().url()), steps)).message,
              HasSubstr("lost the connection"));
  EXPECT_EQ(versions(), "1");
  EXPECT_OK(migrate(*connect(server().url())));
  EXPECT_EQ(versions(), all_versions());
}

TEST_F(SchemaTest, ANewerOneIsLeftAlone) {
  const auto connection = connect(server().url());
  EXPECT_OK(migrate(*connection));
  const Error error = error_of(migrate(*connection, schema_steps().first(1)));
  EXPECT_EQ(error.code, ErrorCode::kStoreUnusable);
  EXPECT_THAT(error.message, HasSubstr("has version " + std::to_string(schema_version())));
  EXPECT_THAT(error.message, HasSubstr("knows versions up to 1; use a newer Pawl"));
}

}  // namespace
}  // namespace pawl::store::pg
