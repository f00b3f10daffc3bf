// What is particular to the SQLite store: its files, options, migrations and transactions.

#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "store/checkpoint_codec.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/sqlite_store.h"
#include "store/support.h"

namespace pawl::store {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

SqliteOptions at(const std::string& path) {
  SqliteOptions options;
  options.path = path;
  options.busy_timeout_ms = 0;
  return options;
}

Error error_of(SqliteOptions options) {
  const Result<std::unique_ptr<Store>> opened = open_sqlite(std::move(options));
  EXPECT_FALSE(opened.has_value());
  return opened.has_value() ? Error{} : opened.error();
}

// Runs SQL by a connection of its own.
void run_sql(const std::string& path, const std::string& sql) {
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
      << sqlite3_errmsg(db);
  sqlite3_close(db);
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// --- Options -------------------------------------------------------------------------------------

TEST(SqliteUrl, NamesThePathAndTheOptions) {
  const SqliteOptions plain = value(parse_sqlite_url("sqlite:app.db"));
  EXPECT_EQ(plain.path, "app.db");
  EXPECT_EQ(plain.name_space, "default");
  EXPECT_EQ(plain.durability, Durability::kPower);
  const SqliteOptions full = value(parse_sqlite_url(
      "sqlite:/var/a%20b%3F.db?durability=process&namespace=shop%26co&busy_timeout_ms=5&"
      "payload_bytes_max=100"));
  EXPECT_EQ(full.path, "/var/a b?.db");
  EXPECT_EQ(full.name_space, "shop&co");
  EXPECT_EQ(full.durability, Durability::kProcess);
  EXPECT_EQ(full.busy_timeout_ms, 5);
  EXPECT_EQ(full.payload_bytes_max, 100U);
  EXPECT_EQ(value(parse_sqlite_url("sqlite:app.db?")).path, "app.db");
  EXPECT_EQ(value(parse_sqlite_url("sqlite:app.db?durability=power")).durability,
            Durability::kPower);
}

TEST(SqliteUrl, SaysWhatIsWrong) {
  const std::vector<std::array<const char*, 2>> wrong = {
      {"app.db", "has to begin with 'sqlite:'"},
      {"postgres:app.db", "has to begin with 'sqlite:'"},
      {"sqlite:", "the path is empty"},
      {"sqlite:?durability=power", "the path is empty"},
      {"sqlite://a.db", "write sqlite:a.db for a file here"},
      {"sqlite:a.db?speed=high", "unknown parameter 'speed'"},
      {"sqlite:a.db?durability=none", "'power' or 'process', not 'none'"},
      {"sqlite:a.db?durability", "not of the form name=value"},
      {"sqlite:a.db?namespace=", "the namespace is empty"},
      {"sqlite:a.db?busy_timeout_ms=soon", "a number from 0"},
      {"sqlite:a.db?busy_timeout_ms=-1", "a number from 0"},
      {"sqlite:a.db?busy_timeout_ms=", "a number from 0"},
      {"sqlite:a.db?payload_bytes_max=99999999999", "a number from 0"},
      {"sqlite:a%2", "two hexadecimal digits"},
      {"sqlite:a%zz", "two hexadecimal digits"},
  };
  for (const auto& [url, what] : wrong) {
    const Result<SqliteOptions> parsed = parse_sqlite_url(url);
    ASSERT_FALSE(parsed.has_value()) << url;
    EXPECT_EQ(parsed.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(parsed.error().message, HasSubstr(what));
    EXPECT_THAT(parsed.error().message, HasSubstr(url));
  }
}

TEST(SqliteOptions, ThatCanNeverWorkAreRefused) {
  const TempDir dir;
  EXPECT_EQ(error_of(at("")).code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(error_of(at(":memory:")).code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(error_of(at(std::string("a\0b", 3))).code, ErrorCode::kInvalidArgument);
  SqliteOptions options = at(dir.file("a.db"));
  options.name_space = "";
  EXPECT_EQ(error_of(options).code, ErrorCode::kInvalidArgument);
  options = at(dir.file("a.db"));
  options.payload_bytes_max = kPayloadBytesLimit + 1;
  EXPECT_EQ(error_of(options).code, ErrorCode::kInvalidArgument);
}

TEST(SqliteOptions, ALowerLimitForPayloadsHolds) {
  const TempDir dir;
  SqliteOptions options = at(dir.file("a.db"));
  options.payload_bytes_max = 10;
  const std::unique_ptr<Store> store = value(open_sqlite(options));
  StartRun op;
  op.run = new_run("order");
  op.run.input = "12345678901";
  std::vector<Op> ops = {op};
  EXPECT_EQ(store->apply(ops).error().code, ErrorCode::kLimitExceeded);
  op.run.input.pop_back();
  ops = {op};
  EXPECT_TRUE(store->apply(ops).has_value());
}

// --- Files ---------------------------------------------------------------------------------------

TEST(SqliteFile, ThatIsNoDatabaseIsRefusedAndLeftAlone) {
  const TempDir dir;
  const std::string path = dir.file("notes.txt");
  const std::string text(5000, 'x');
  std::ofstream(path) << text;
  const Error error = error_of(at(path));
  EXPECT_EQ(error.code, ErrorCode::kStoreUnusable);
  EXPECT_THAT(error.message, HasSubstr("is not an SQLite database"));
  EXPECT_THAT(error.message, HasSubstr(path));
  EXPECT_EQ(read_file(path), text);
}

TEST(SqliteFile, OfAnotherProgramIsRefusedAndLeftAlone) {
  const TempDir dir;
  const std::string path = dir.file("theirs.db");
  run_sql(path, "CREATE TABLE customer(id INTEGER PRIMARY KEY)");
  const std::string before = read_file(path);
  Error error = error_of(at(path));
  EXPECT_EQ(error.code, ErrorCode::kStoreUnusable);
  EXPECT_THAT(error.message, HasSubstr("the database of another program"));
  EXPECT_EQ(read_file(path), before);
  run_sql(path, "DROP TABLE customer; PRAGMA application_id = 77");
  EXPECT_THAT(error_of(at(path)).message, HasSubstr("application id 77"));
}

TEST(SqliteFile, OfANewerPawlIsRefused) {
  const TempDir dir;
  const std::string path = dir.file("a.db");
  ASSERT_TRUE(open_sqlite(at(path)).has_value());
  run_sql(path, "PRAGMA user_version = 99");
  const Error error = error_of(at(path));
  EXPECT_EQ(error.code, ErrorCode::kStoreUnusable);
  EXPECT_THAT(error.message, HasSubstr("newer Pawl (schema 99"));
}

TEST(SqliteFile, WithASchemaThatCannotBeIsDamaged) {
  const TempDir dir;
  const std::string path = dir.file("a.db");
  ASSERT_TRUE(open_sqlite(at(path)).has_value());
  run_sql(path, "PRAGMA user_version = -2");
  const Error error = error_of(at(path));
  EXPECT_EQ(error.code, ErrorCode::kStoreCorrupt);
  EXPECT_THAT(error.message, HasSubstr("schema -2"));
}

TEST(SqliteFile, WithoutTheNumberOfItsSchemaIsDamaged) {
  const TempDir dir;
  const std::string path = dir.file("a.db");
  ASSERT_TRUE(open_sqlite(at(path)).has_value());
  run_sql(path, "PRAGMA user_version = 0");
  const Error error = error_of(at(path));
  EXPECT_EQ(error.code, ErrorCode::kStoreCorrupt);
  EXPECT_THAT(error.message, HasSubstr("user_version is 0"));
  EXPECT_THAT(error.message, HasSubstr(path));
}

TEST(SqliteFile, WithAnEmptyUuidIsRead) {
  const TempDir dir;
  const std::string path = dir.file("a.db");
  {
    const std::unique_ptr<Store> store = value(open_sqlite(at(path)));
    StartRun start;
    start.run = new_run("a");
    apply(*store, start);
  }
  run_sql(path, "UPDATE pawl_run SET uuid = x''");
  const std::unique_ptr<Store> store = value(open_sqlite(at(path)));
  const auto row = value(store->find_run("a", std::nullopt));
  ASSERT_TRUE(row.has_value());
  EXPECT_EQ(row->uuid, Uuid());
}

TEST(SqliteFile, ThatCannotBeOpenedSaysWhy) {
  const TempDir dir;
  std::filesystem::create_directory(dir.file("folder"));
  Error error = error_of(at(dir.file("folder")));
  EXPECT_EQ(error.code, ErrorCode::kStoreUnusable);
  EXPECT_THAT(error.message, HasSubstr("it is a directory"));
  error = error_of(at(dir.file("missing/a.db")));
  EXPECT_EQ(error.code, ErrorCode::kStoreUnusable);
  EXPECT_THAT(error.message, HasSubstr("missing' cannot be reached: No such file or directory"));
  std::ofstream(dir.file("plain")) << "x";
  error = error_of(at(dir.file("plain/a.db")));
  EXPECT_EQ(error.code, ErrorCode::kStoreUnusable);
  EXPECT_THAT(error.message, HasSubstr("is not a directory"));
  SqliteOptions options = at(dir.file("a.db"));
  options.vfs = "no-such-vfs";
  EXPECT_FALSE(open_sqlite(options).has_value());
}

TEST(SqliteFile, WithoutRightsIsRefused) {
  if (::geteuid() == 0) {
    GTEST_SKIP() << "root may do everything";
  }
  const TempDir dir;
  const std::string path = dir.file("a.db");
  ASSERT_TRUE(open_sqlite(at(path)).has_value());
  ::chmod(path.c_str(), 0444);
  EXPECT_EQ(error_of(at(path)).code, ErrorCode::kStoreUnusable);
  ::chmod(path.c_str(), 0);
  EXPECT_EQ(error_of(at(path)).code, ErrorCode::kStoreUnusable);
}

TEST(SqliteFile, AnEmptyFileBecomesADatabase) {
  const TempDir dir;
  std::ofstream(dir.file("a.db")).flush();
  EXPECT_TRUE(open_sqlite(at(dir.file("a.db"))).has_value());
}

TEST(SqliteFile, IsKeptWithAllThatIsInIt) {
  const TempDir dir;
  const std::string path = dir.file("a.db");
  StartRun op;
  op.run = new_run("order");
  std::string before;
  {
    const std::unique_ptr<Store> store = value(open_sqlite(at(path)));
    before = describe(apply(*store, op).row);
  }
  const std::unique_ptr<Store> store = value(open_sqlite(at(path)));
  EXPECT_EQ(describe(*value(store->find_run("order", std::nullopt))), before);
}

TEST(SqliteFile, IsTheSameByALink) {
  const TempDir dir;
  std::filesystem::create_directory(dir.file("real"));
  std::filesystem::create_symlink(dir.file("real/a.db"), dir.file("link.db"));
  const std::unique_ptr<Store> real = value(open_sqlite(at(dir.file("real/a.db"))));
  const std::unique_ptr<Store> link = value(open_sqlite(at(dir.file("link.db"))));
  EXPECT_FALSE(std::filesystem::exists(dir.file("link.db-workers")));
  const WorkerKey worker = value(real->add_worker({"worker", kNever, 0}));
  EXPECT_EQ(value(link->free_expired(0, 5)).next_ms, kNever);
  EXPECT_TRUE(apply(*real, Heartbeat{.worker = worker, .expires_ms = kNever}).known);
}

// Starts a run; what came of it.
Result<void> try_start(Store& store, const std::string& id) {
  StartRun op;
  op.run = new_run(id);
  std::vector<Op> ops = {op};
  return store.apply(ops);
}

TEST(SqliteFile, ThatIsGoneTakesNoMoreCommits) {
  const TempDir dir;
  const std::string path = dir.file("a.db");
  const std::unique_ptr<Store> store = value(open_sqlite(at(path)));
  ASSERT_TRUE(try_start(*store, "before").has_value());
  std::filesystem::rename(path, dir.file("moved.db"));
  const Result<void> refused = try_start(*store, "lost");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kStoreUnusable);
  EXPECT_THAT(refused.error().message, HasSubstr("'" + path + "' was removed"));
  EXPECT_THAT(refused.error().message, HasSubstr("Put the old file back"));
  EXPECT_FALSE(store->add_worker({"worker", kNever, 0}).has_value());
  // Nor is it read as if nothing had happened.
  EXPECT_EQ(store->find_run("before", std::nullopt).error().code, ErrorCode::kStoreUnusable);
  std::filesystem::rename(dir.file("moved.db"), path);
  EXPECT_FALSE(value(store->find_run("lost", std::nullopt)).has_value());
  EXPECT_TRUE(try_start(*store, "after").has_value());
}

TEST(SqliteFile, ThatWasReplacedTakesNoMoreCommits) {
  const TempDir dir;
  const std::string path = dir.file("a.db");
  const std::unique_ptr<Store> store = value(open_sqlite(at(path)));
  ASSERT_TRUE(open_sqlite(at(dir.file("b.db"))).has_value());
  std::filesystem::rename(dir.file("b.db"), path);
  const Result<void> refused = try_start(*store, "lost");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kStoreUnusable);
  EXPECT_THAT(refused.error().message, HasSubstr("was replaced by another file"));
}

TEST(SqliteFile, IsTheOneThatALinkNamed) {
  const TempDir dir;
  const std::string link = dir.file("link.db");
  std::filesystem::create_symlink(dir.file("a.db"), link);
  const std::unique_ptr<Store> store = value(open_sqlite(at(link)));
  ASSERT_TRUE(try_start(*store, "one").has_value());
  ASSERT_TRUE(open_sqlite(at(dir.file("b.db"))).has_value());
  std::filesystem::remove(link);
  std::filesystem::create_symlink(dir.file("b.db"), link);
  EXPECT_EQ(try_start(*store, "two").error().code, ErrorCode::kStoreUnusable);
}

TEST(SqliteFile, IsTheSameFromAnotherDirectory) {
  const TempDir dir;
  const std::filesystem::path here = std::filesystem::current_path();
  std::filesystem::current_path(dir.file(""));
  const std::unique_ptr<Store> store = value(open_sqlite(at("a.db")));
  std::filesystem::current_path(here);
  EXPECT_TRUE(try_start(*store, "one").has_value());
}

TEST(SqliteFile, OddNamesAreFiles) {
  const TempDir dir;
  const std::filesystem::path here = std::filesystem::current_path();
  std::filesystem::create_directory(dir.file("odd"));
  std::filesystem::current_path(dir.file("odd"));
  for (const std::string name : {"file:a.db", ":a", "a b?x=1#%41.db", "-a"}) {
    EXPECT_TRUE(open_sqlite(at(name)).has_value()) << name;
    EXPECT_TRUE(std::filesystem::exists(dir.file("odd/" + name))) << name;
  }
  std::filesystem::current_path(here);
}

TEST(SqliteFile, AnotherWriterMakesItBusy) {
  const TempDir dir;
  const std::string path = dir.file("a.db");
  const std::unique_ptr<Store> store = value(open_sqlite(at(path)));
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &other), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(other, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  StartRun op;
  op.run = new_run("order");
  std::vector<Op> ops = {op};
  const Result<void> done = store->apply(ops);
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().code, ErrorCode::kStoreBusy);
  EXPECT_THAT(done.error().message, HasSubstr("try again"));
  // Who reads is not disturbed.
  EXPECT_FALSE(value(store->find_run("order", std::nullopt)).has_value());
  sqlite3_exec(other, "ROLLBACK", nullptr, nullptr, nullptr);
  sqlite3_close(other);
  EXPECT_TRUE(store->apply(ops).has_value());
}

TEST(SqliteFile, ADamagedOneSaysSo) {
  const TempDir dir;
  const std::string path = dir.file("a.db");
  {
    const std::unique_ptr<Store> store = value(open_sqlite(at(path)));
    for (int i = 0; i < 200; ++i) {
      StartRun op;
      op.run = new_run("order-" + std::to_string(i));
      op.run.input = std::string(500, 'x');
      apply(*store, op);
    }
  }
  std::string bytes = read_file(path);
  ASSERT_GT(bytes.size(), 3 * 4096U);
  for (std::size_t i = 2 * 4096; i < bytes.size(); i += 7) {
    bytes[i] = static_cast<char>(~bytes[i]);
  }
  std::ofstream(path, std::ios::binary) << bytes;
  const Result<std::unique_ptr<Store>> opened = open_sqlite(at(path));
  ErrorCode seen{};
  if (!opened.has_value()) {
    seen = opened.error().code;
  } else {
    StartRun op;
    op.run = new_run("order-77");
    std::vector<Op> ops = {op};
    const Result<void> done = (*opened)->apply(ops);
    ASSERT_FALSE(done.has_value());
    seen = done.error().code;
  }
  EXPECT_EQ(seen, ErrorCode::kStoreCorrupt);
}

TEST(SqliteFile, IsLeftAloneByWhoOnlyLooks) {
  const TempDir dir;
  SqliteOptions options;
  options.path = dir.file("a.db");
  options.read_only = true;
  EXPECT_EQ(open_sqlite(options).error().code, ErrorCode::kStoreUnusable);
  EXPECT_FALSE(std::filesystem::exists(options.path));
  std::ofstream(options.path).close();
  EXPECT_NE(open_sqlite(options).error().message.find("is empty"), std::string::npos);
  EXPECT_EQ(std::filesystem::file_size(options.path), 0U);
  SqliteOptions maker;
  maker.path = options.path;
  ASSERT_TRUE(open_sqlite(maker).has_value());
  EXPECT_TRUE(open_sqlite(options).has_value());
  options.name_space = "shop";
  EXPECT_NE(open_sqlite(options).error().message.find("no namespace 'shop'"), std::string::npos);
  {
    const std::unique_ptr<Connection> connection =
        value(Connection::open({options.path, "", 0, Access::kWrite}));
    EXPECT_EQ(value(connection->query_integer("SELECT count(*) FROM pawl_namespace")), 1);
    std::vector<const char*> newer(schema_steps().begin(), schema_steps().end());
    newer.push_back("CREATE TABLE later(x)");
    EXPECT_NE(find_namespace(*connection, newer, "default").error().message.find("older Pawl"),
              std::string::npos);
  }
}

TEST(ReadOnly, LeavesNothingBehindAndWritesNothing) {
  const TempDir dir;
  SqliteOptions options = at(dir.file("odd %?#.db"));
  {
    const std::unique_ptr<Store> maker = value(open_sqlite(options));
    ASSERT_TRUE(try_start(*maker, "one").has_value());
  }
  const auto names = [&] {
    std::set<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(dir.file(""))) {
      found.insert(entry.path().filename().string());
    }
    return found;
  };
  const std::set<std::string> before = names();
  EXPECT_FALSE(before.contains("odd %?#.db-wal"));  // Who closes it last leaves none.
  options.read_only = true;
  {
    const std::unique_ptr<Store> store = value(open_sqlite(options));
    EXPECT_TRUE(value(store->find_run("one", std::nullopt)).has_value());
    EXPECT_EQ(try_start(*store, "two").error().code, ErrorCode::kStoreUnusable);
    EXPECT_FALSE(store->add_worker({"worker", kNever, 0}).has_value());
  }
  EXPECT_EQ(names(), before);
}

TEST(ReadOnly, SeesWhatAnotherHasJustCommitted) {
  const TempDir dir;
  SqliteOptions options = at(dir.file("a.db"));
  const std::unique_ptr<Store> writer = value(open_sqlite(options));
  options.read_only = true;
  const std::unique_ptr<Store> store = value(open_sqlite(options));
  ASSERT_TRUE(try_start(*writer, "one").has_value());
  EXPECT_TRUE(value(store->find_run("one", std::nullopt)).has_value());
}

// A file system on which nobody may write, not even root.
class FixedDisk {
 public:
  explicit FixedDisk(const std::string& path) : path_(path) {
    std::filesystem::create_directories(path);
    is_there_ = ::mount("pawl-test", path.c_str(), "tmpfs", 0, "size=12m") == 0;
  }
  ~FixedDisk() {
    if (is_there_) {
      ::umount2(path_.c_str(), MNT_DETACH);
    }
  }
  FixedDisk(const FixedDisk&) = delete;
  FixedDisk& operator=(const FixedDisk&) = delete;
  bool is_there() const { return is_there_; }
  void fix() const {
    ASSERT_EQ(::mount("pawl-test", path_.c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, nullptr), 0);
  }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
  bool is_there_ = false;
};

TEST(ReadOnly, NeedsNoRightToWrite) {
  const TempDir dir;
  const FixedDisk disk(dir.file("disk"));
  if (!disk.is_there()) {
    GTEST_SKIP() << "no file system can be mounted here";
  }
  ASSERT_TRUE(try_start(*value(open_sqlite(at(disk.file("closed.db")))), "one").has_value());
  {
    // As a process leaves it that is killed; of one copy the -shm file is missing, the other one
    // has no commits in its -wal file.
    const std::unique_ptr<Store> killed = value(open_sqlite(at(dir.file("a.db"))));
    ASSERT_TRUE(try_start(*killed, "one").has_value());
    for (const std::string suffix : {"", "-wal", "-shm"}) {
      std::filesystem::copy_file(dir.file("a.db" + suffix), disk.file("killed.db" + suffix));
    }
    for (const std::string suffix : {"", "-wal"}) {
      std::filesystem::copy_file(dir.file("a.db" + suffix), disk.file("half.db" + suffix));
    }
  }
  std::filesystem::copy_file(disk.file("closed.db"), disk.file("empty.db"));
  std::ofstream(disk.file("empty.db-wal")).flush();
  disk.fix();
  for (const char* const name : {"closed.db", "killed.db", "empty.db"}) {
    SCOPED_TRACE(name);
    SqliteOptions options = at(disk.file(name));
    EXPECT_EQ(error_of(options).code, ErrorCode::kStoreUnusable);
    options.read_only = true;
    const Result<std::unique_ptr<Store>> store = open_sqlite(options);
    ASSERT_TRUE(store.has_value()) << store.error().message;
    EXPECT_TRUE(value((*store)->find_run("one", std::nullopt)).has_value());
  }
  SqliteOptions options = at(disk.file("half.db"));
  options.read_only = true;
  const Error error = error_of(options);
  EXPECT_EQ(error.code, ErrorCode::kStoreUnusable);
  EXPECT_THAT(error.message, HasSubstr("there are commits in '" + disk.file("half.db-wal")));
}

// --- Migrations ----------------------------------------------------------------------------------

TEST(Migration, TakesTheStepsThatAreMissing) {
  const TempDir dir;
  const std::string path = dir.file("a.db");
  const std::unique_ptr<Connection> connection =
      value(Connection::open({path, "", 0, Access::kCreate}));
  const std::array first = {"CREATE TABLE a(x)"};
  ASSERT_TRUE(migrate(*connection, first, 0).has_value());
  ASSERT_TRUE(connection->execute("INSERT INTO a VALUES(7)").has_value());
  ASSERT_TRUE(migrate(*connection, first, 0).has_value());
  const std::array both = {"CREATE TABLE a(x)", "ALTER TABLE a ADD y DEFAULT 8"};
  ASSERT_TRUE(migrate(*connection, both, 0).has_value());
  EXPECT_EQ(value(connection->query_integer("SELECT x + y FROM a")), 15);
  EXPECT_EQ(value(connection->query_integer("PRAGMA user_version")), 2);
  EXPECT_EQ(migrate(*connection, first, 0).error().code, ErrorCode::kStoreUnusable);
}

TEST(Migration, ThatFailsLeavesEverythingAsItWas) {
  const TempDir dir;
  const std::unique_ptr<Connection> connection =
      value(Connection::open({dir.file("a.db"), "", 0, Access::kCreate}));
  const std::array first = {"CREATE TABLE a(x)"};
  ASSERT_TRUE(migrate(*connection, first, 0).has_value());
  const std::array bad = {"CREATE TABLE a(x)", "CREATE TABLE b(x)", "CREATE TABLE nonsense"};
  EXPECT_FALSE(migrate(*connection, bad, 0).has_value());
  EXPECT_FALSE(connection->in_transaction());
  EXPECT_EQ(value(connection->query_integer("PRAGMA user_version")), 1);
  EXPECT_EQ(value(connection->query_integer("SELECT count(*) FROM sqlite_schema")), 1);
}

TEST(Migration, OpenRunsGoOnUnderTheNextSchema) {
  const TempDir dir;
  const std::string path = dir.file("a.db");
  const std::unique_ptr<Store> store = value(open_sqlite(at(path)));
  const WorkerKey worker = value(store->add_worker({"worker", kNever, 0}));
  StartRun op;
  op.run = new_run("order");
  op.owner = worker;
  const RunRow run = apply(*store, op).row;
  {
    const std::unique_ptr<Connection> connection =
        value(Connection::open({path, "", 0, Access::kWrite}));
    std::vector<const char*> steps(schema_steps().begin(), schema_steps().end());
    steps.push_back("ALTER TABLE pawl_run ADD later INTEGER; CREATE TABLE pawl_later(x)");
    ASSERT_TRUE(migrate(*connection, steps, 0).has_value());
  }
  CommitTurn turn;
  turn.run = run.key;
  turn.worker = worker;
  turn.epoch = run.epoch;
  turn.entries = {entry(1)};
  turn.release = true;
  EXPECT_TRUE(apply(*store, turn).released);
}

// A file of schema 1 with a run that somebody has blocked: by what code is not known.
TEST(Migration, RunsThatWereBlockedMayBeTriedAgain) {
  const TempDir dir;
  const std::string path = dir.file("a.db");
  {
    const std::unique_ptr<Connection> connection =
        value(Connection::open({path, "", 0, Access::kCreate}));
    ASSERT_TRUE(migrate(*connection, schema_steps().first(1), 0).has_value());
    ASSERT_TRUE(
        connection
            ->execute("INSERT INTO pawl_namespace VALUES(0, 'default');"
                      "INSERT INTO pawl_run(ns, epoch, status, number, created, changed, uuid, id, "
                      "kind, definition) VALUES"
                      "(0, 3, 8, 1, 10, 20, zeroblob(16), 'blocked', 'order', 'old'),"
                      "(0, 3, 5, 1, 10, 20, zeroblob(16), 'failed', 'order', 'old');"
                      "INSERT INTO pawl_reason VALUES(1, 0, 'why'), (2, 0, 'why, too')")
            .has_value());
  }
  const std::unique_ptr<Store> store = value(open_sqlite(at(path)));
  EXPECT_EQ(value(store->read_reason(1)), "why");
  EXPECT_EQ(value(store->read_reason(2)), "why, too");
  ClaimStuck op;
  op.codes = {{"order", "new"}};
  op.worker = value(store->add_worker({"worker", kNever, 0}));
  op.limit = 10;
  op = apply(*store, op);
  ASSERT_EQ(op.claims.size(), 1U);
  EXPECT_EQ(op.claims[0].row.id, "blocked");
  EXPECT_EQ(op.claims[0].row.definition, "old");
  EXPECT_EQ(op.claims[0].row.epoch, 4);
}

// From each earlier version, with a run that waits, one that is due and a task: they go on.
TEST(Migration, OpenRunsGoOnFromEveryVersion) {
  for (std::size_t from = 1; from <= schema_steps().size(); ++from) {
    SCOPED_TRACE(from);
    const TempDir dir;
    const std::string path = dir.file("a.db");
    {
      const std::unique_ptr<Connection> connection =
          value(Connection::open({path, "", 0, Access::kCreate}));
      ASSERT_TRUE(migrate(*connection, schema_steps().first(from), 0).has_value());
      ASSERT_TRUE(
          connection
              ->execute(
                  "INSERT INTO pawl_namespace(key, name) VALUES(0, 'default');"
                  "INSERT INTO pawl_run(ns, epoch, status, wake, number, created, changed, uuid, "
                  "id, kind, waiting_for) VALUES"
                  "(0, 3, 2, NULL, 1, 10, 20, zeroblob(16), 'waits', 'order', 'signal go'),"
                  "(0, 0, 1, 30, 1, 30, 30, zeroblob(16), 'due', 'order', NULL);"
                  "INSERT INTO pawl_input(run, ns, input) VALUES(1, 0, CAST('7' AS BLOB));"
                  "INSERT INTO pawl_log(run, seq, ns, kind, time, version, name, payload) VALUES"
                  "(1, 1, 0, 8, 10, 1, 'stage', CAST('1' AS BLOB));"
                  "INSERT INTO pawl_task(ns, run, id, type, queue, priority, state, attempt, "
                  "created) VALUES(0, 1, 'task', 'charge', 'default', 0, 0, 0, 10)")
              .has_value());
    }
    const std::unique_ptr<Store> store = value(open_sqlite(at(path)));
    EXPECT_EQ(value(store->read_input(1)), "7");
    EXPECT_EQ(seqs_of(*store, 1), std::vector<std::uint64_t>{1});
    Send sent;
    sent.run_id = "waits";
    sent.arrival = signal("go");
    sent.now_ms = 50;
    apply(*store, sent);
    ClaimDue claim;
    claim.kinds = {"order"};
    claim.worker = value(store->add_worker({"worker", kNever, 0}));
    claim.limit = 5;
    claim.now_ms = 60;
    claim = apply(*store, claim);
    ASSERT_EQ(claim.claims.size(), 2U);
    TakeTasks take;
    take.queue = "default";
    take.types = {"charge"};
    take.worker = claim.worker;
    take.limit = 5;
    take.now_ms = 60;
    EXPECT_EQ(apply(*store, take).taken.size(), 1U);
    CommitTurn turn;
    turn.run = claim.claims[0].run;
    turn.worker = claim.worker;
    turn.epoch = claim.claims[0].row.epoch;
    turn.entries = {entry(2)};
    turn.release = true;
    turn.status = RunStatus::kWaiting;
    EXPECT_TRUE(apply(*store, turn).committed);
  }
}

// --- Deleting ------------------------------------------------------------------------------------

// Rows of one run in each table that has a column for it.
std::map<std::string, std::int64_t> rows_of(const std::string& path, RunKey run) {
  const std::unique_ptr<Connection> connection =
      value(Connection::open({path, "", 0, Access::kWrite}));
  std::map<std::string, std::int64_t> rows;
  Statement columns(*connection,
                    "SELECT t.name, c.name FROM sqlite_schema AS t, pragma_table_info(t.name) AS c "
                    "WHERE t.type = 'table' AND (c.name IN ('run', 'chain') OR (t.name = "
                    "'pawl_run' AND c.name = 'key'))");
  Query query(columns);
  while (value(query.step())) {
    const std::string table = query.as_string(0);
    const std::string sql = "SELECT count(*) FROM " + table + " WHERE " + query.as_string(1) +
                            " = " + std::to_string(run);
    rows[table] += value(connection->query_integer(sql.c_str()));
  }
  return rows;
}

// A run that was carried here has whatever its image had, whatever became of the rest.
TEST(SqliteDelete, LeavesNoRowOfTheRunInAnyTable) {
  const TempDir dir;
  const std::string path = dir.file("a.db");
  const std::unique_ptr<Store> store = value(open_sqlite(at(path)));
  replay::Checkpoint checkpoint;
  checkpoint.changes = {{"x", "1"}};
  replay::Entry loop = entry(2, "", replay::EntryKind::kLoopCheckpointed);
  loop.location = "{1}";
  loop.checkpoint = &checkpoint;
  CreateRun put;
  put.image.row.id = "order-1";
  put.image.row.kind = "order";
  put.image.row.status = RunStatus::kRecurred;
  put.image.input = "input";
  put.image.tags = {{"color", "red"}};
  put.image.reason = "why";
  put.image.inbox.resize(1);
  put.image.tasks.resize(1);
  put.image.tasks[0].id = "task";
  put.image.promises = {{"promise", false}};
  put.image.compensations.resize(1);
  put.image.dedupe = {"event-1"};
  put.entries = {entry(1), loop};
  const RunKey run = apply(*store, put).row.key;
  run_sql(path,
          "INSERT INTO pawl_forgotten(run, seq, ns, kind, time, version, loop, iteration) "
          "VALUES(1, 9, 0, 3, 1, 1, '{1}', 5)");
  put.image.row.id = "order-2";
  const RunKey other = apply(*store, put).row.key;
  const std::map<std::string, std::int64_t> before = rows_of(path, run);
  EXPECT_GE(before.size(), 11U);
  for (const auto& [table, rows] : before) {
    EXPECT_GT(rows, 0) << table << " is not tried";
  }
  const std::map<std::string, std::int64_t> others = rows_of(path, other);
  DeleteRun gone;
  gone.run = run;
  EXPECT_EQ(apply(*store, gone).outcome, DeleteRun::Outcome::kDeleted);
  for (const auto& [table, rows] : rows_of(path, run)) {
    EXPECT_EQ(rows, 0) << table;
  }
  EXPECT_EQ(rows_of(path, other), others);
}

// --- The catalog ---------------------------------------------------------------------------------

TEST(ReadOnly, HasACatalog) {
  const TempDir dir;
  SqliteOptions options = at(dir.file("a.db"));
  {
    const std::unique_ptr<Store> maker = value(open_sqlite(options));
    ASSERT_TRUE(try_start(*maker, "one").has_value());
  }
  options.read_only = true;
  const std::unique_ptr<Store> store = value(open_sqlite(options));
  EXPECT_EQ(value(store->catalog().list_runs({}, {}, 5)).rows.size(), 1U);
  EXPECT_EQ(value(store->catalog().count_runs({})), 1);
  EXPECT_THAT(value(store->catalog().find_ids("o", "", 5)), ElementsAre("one"));
  EXPECT_EQ(value(store->catalog().read_image(1)).row.id, "one");
  EXPECT_EQ(value(store->catalog().read_figures(0)).runs.size(), 1U);
  EXPECT_THAT(value(store->catalog().list_workers()), IsEmpty());
  EXPECT_THAT(value(store->catalog().list_tasks({}, 0, 5)), IsEmpty());
}

TEST(ReadOnly, TheCatalogAnswersWhileAnotherProcessWrites) {
  constexpr int kBatches = 300;
  const TempDir dir;
  SqliteOptions options = at(dir.file("a.db"));
  const std::unique_ptr<Store> maker = value(open_sqlite(options));
  ASSERT_TRUE(try_start(*maker, "first").has_value());
  const pid_t writer = ::fork();
  ASSERT_GE(writer, 0);
  if (writer == 0) {
    options.busy_timeout_ms = 5000;
    const Result<std::unique_ptr<Store>> store = open_sqlite(options);
    for (int i = 0; store.has_value() && i < kBatches; ++i) {
      std::vector<Op> ops;
      for (const char* const half : {"a", "b"}) {
        StartRun op;
        op.run = new_run(half + std::to_string(i));
        op.run.tags = {{"half", half}};
        ops.emplace_back(op);
      }
      if (!(*store)->apply(ops).has_value()) {
        ::_exit(1);
      }
    }
    ::_exit(store.has_value() ? 0 : 1);
  }
  options.read_only = true;
  const std::unique_ptr<Store> store = value(open_sqlite(options));
  int status = 0;
  pid_t ended = 0;
  do {
    ended = ::waitpid(writer, &status, WNOHANG);
    EXPECT_EQ(value(store->catalog().count_runs({})) % 2, 1);  // Whole batches only.
    RunFilter filter;
    filter.tags = {{"half", "a"}};
    EXPECT_LE(value(store->catalog().list_runs(filter, {}, 10)).rows.size(), 10U);
    EXPECT_EQ(value(store->catalog().read_image(1)).row.id, "first");
  } while (ended == 0 && !testing::Test::HasFailure());
  if (ended == 0) {
    ::waitpid(writer, &status, 0);
  }
  EXPECT_EQ(status, 0);
  EXPECT_EQ(value(store->catalog().count_runs({})), 2 * kBatches + 1);
}

// --- Inside the transaction ----------------------------------------------------------------------

class InsideTest : public testing::Test {
 protected:
  InsideTest() : store_(value(open_sqlite(at(dir_.file("a.db"))))) {
    worker_ = value(store_->add_worker({"worker", kNever, 0}));
    run_sql(dir_.file("a.db"), "CREATE TABLE account(id INTEGER PRIMARY KEY, amount INTEGER)");
  }

  CommitTurn turn(std::string id, const std::string& sql, bool refuse = false) {
    StartRun op;
    op.run = new_run(std::move(id));
    op.owner = worker_;
    const RunRow run = apply(*store_, op).row;
    CommitTurn made;
    made.run = run.key;
    made.worker = worker_;
    made.epoch = run.epoch;
    made.entries = {entry(1)};
    made.inside = [sql, refuse](Database& database, CommitTurn&) -> Result<void> {
      auto* const db = static_cast<sqlite3*>(database.handle());
      if (sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
        return make_error(ErrorCode::kInvalidArgument, sqlite3_errmsg(db));
      }
      return refuse ? Result<void>(make_error(ErrorCode::kInvalidArgument, "changed my mind"))
                    : Result<void>();
    };
    return made;
  }

  std::int64_t accounts() {
    const std::unique_ptr<Connection> connection =
        value(Connection::open({dir_.file("a.db"), "", 0, Access::kWrite}));
    return value(connection->query_integer("SELECT count(*) FROM account"));
  }

  TempDir dir_;
  std::unique_ptr<Store> store_;
  WorkerKey worker_ = 0;
};

TEST_F(InsideTest, SqlAndEntriesCommitTogether) {
  const CommitTurn done = apply(*store_, turn("a", "INSERT INTO account(amount) VALUES(5)"));
  EXPECT_TRUE(done.committed);
  EXPECT_EQ(accounts(), 1);
  EXPECT_THAT(seqs_of(*store_, done.run), ElementsAre(1));
}

TEST_F(InsideTest, ARefusalUndoesTheSqlOfThatTurnOnly) {
  std::vector<Op> ops = {turn("a", "INSERT INTO account(amount) VALUES(5)"),
                         turn("b", "INSERT INTO account(amount) VALUES(6)", /*refuse=*/true),
                         turn("c", "INSERT INTO nowhere VALUES(1)"),
                         turn("d", "INSERT INTO account(amount) VALUES(7)")};
  ASSERT_TRUE(store_->apply(ops).has_value());
  EXPECT_TRUE(std::get<CommitTurn>(ops[0]).committed);
  EXPECT_EQ(std::get<CommitTurn>(ops[1]).refused->message, "changed my mind");
  EXPECT_THAT(std::get<CommitTurn>(ops[2]).refused->message, HasSubstr("no such table"));
  EXPECT_TRUE(std::get<CommitTurn>(ops[3]).committed);
  EXPECT_EQ(accounts(), 2);
}

TEST_F(InsideTest, ALostRaceUndoesTheSqlToo) {
  CommitTurn first = turn("a", "SELECT 1");
  apply(*store_, first);
  first.inside = turn("b", "INSERT INTO account(amount) VALUES(5)").inside;
  EXPECT_FALSE(apply(*store_, first).committed);
  EXPECT_EQ(accounts(), 0);
}

TEST_F(InsideTest, WhoEndsTheTransactionHasNothingWritten) {
  for (const char* const sql : {"COMMIT", "ROLLBACK", "INSERT INTO account VALUES(1, 1); COMMIT"}) {
    std::vector<Op> ops = {turn(std::string("good ") + sql, "SELECT 1"),
                           turn(std::string("bad ") + sql, sql)};
    const Result<void> done = store_->apply(ops);
    ASSERT_FALSE(done.has_value()) << sql;
    EXPECT_THAT(done.error().message, HasSubstr("the transaction was ended"));
    EXPECT_THAT(seqs_of(*store_, std::get<CommitTurn>(ops[0]).run), IsEmpty());
    EXPECT_EQ(accounts(), 0);
    EXPECT_TRUE(apply(*store_, turn(std::string("next ") + sql, "SELECT 1")).committed);
  }
}

TEST_F(InsideTest, ALeaseThatWasTakenBackWithTheBatchIsNone) {
  CommitTurn released = turn("a", "SELECT 1");
  released.inside = nullptr;
  released.release = true;
  ASSERT_TRUE(apply(*store_, released).released);
  Claim claim;
  claim.run = released.run;
  claim.worker = worker_;
  CommitTurn next = released;
  next.epoch += 1;
  next.entries = {entry(2)};
  next.release = false;
  std::vector<Op> ops = {claim, next, turn("b", "ROLLBACK")};
  ASSERT_FALSE(store_->apply(ops).has_value());
  EXPECT_FALSE(apply(*store_, next).committed);
  EXPECT_THAT(seqs_of(*store_, released.run), ElementsAre(1));
}

// --- Who only looks ------------------------------------------------------------------------------

// What a run's own turns write concerns no other engine, but who looks at the run.
TEST(ReadOnly, IsToldOfEveryCommit) {
  const TempDir dir;
  SqliteOptions options = at(dir.file("a.db"));
  const std::unique_ptr<Store> engine = value(open_sqlite(options));
  const WorkerKey worker = value(engine->add_worker({"worker", kNever, 0}));
  StartRun start;
  start.run = new_run("order");
  start.owner = worker;
  const RunRow run = apply(*engine, start).row;
  options.read_only = true;
  const std::unique_ptr<Store> looker = value(open_sqlite(options));
  std::promise<void> told;
  std::once_flag once;
  looker->watch([&](Store::Change) {
    if (!value(looker->read_inbox_of(run.key)).empty()) {
      std::call_once(once, [&] { told.set_value(); });
    }
  });
  CommitTurn turn;
  turn.run = run.key;
  turn.worker = worker;
  turn.epoch = run.epoch;
  NewArrival arrival;
  arrival.kind = kRetryOperation;
  arrival.id = "o-1";
  turn.arrivals = {arrival};
  apply(*engine, turn);
  EXPECT_EQ(told.get_future().wait_for(std::chrono::seconds(60)), std::future_status::ready);
  looker->watch({});
}

TEST(ReadOnly, OfAFileThatNobodyHasOpenNothingIsTold) {
  const TempDir dir;
  SqliteOptions options = at(dir.file("a.db"));
  value(open_sqlite(options)).reset();
  options.read_only = true;
  const std::unique_ptr<Store> looker = value(open_sqlite(options));
  looker->watch([](Store::Change) { ADD_FAILURE() << "told of nothing"; });
  looker->watch({});
}

// --- Signals and codec ---------------------------------------------------------------------------

TEST(LocalChangeHub, TellsAllStoresButTheOneThatCommitted) {
  const TempDir dir;
  LocalChangeHub hub;
  const auto open = [&] {
    SqliteOptions options = at(dir.file("a.db"));
    options.signal = hub.make_signal();
    return value(open_sqlite(options));
  };
  const std::unique_ptr<Store> a = open();
  const std::unique_ptr<Store> b = open();
  int told_a = 0;
  int told_b = 0;
  a->watch([&](Store::Change) { ++told_a; });
  b->watch([&](Store::Change) {
    ++told_b;
    EXPECT_TRUE(value(b->find_run("order", std::nullopt)).has_value());
  });
  StartRun op;
  op.run = new_run("order");
  apply(*a, op);
  EXPECT_EQ(told_a, 0);
  EXPECT_EQ(told_b, 1);
  // Somebody will have to look after a new worker.
  const WorkerKey worker = value(a->add_worker({"worker", kNever, 0}));
  EXPECT_EQ(told_b, 2);
  // What concerns nobody else is not told.
  op.run = new_run("mine");
  op.owner = worker;
  const RunRow run = apply(*a, op).row;
  EXPECT_EQ(told_b, 2);
  CommitTurn turn;
  turn.run = run.key;
  turn.worker = worker;
  turn.epoch = run.epoch;
  turn.entries = {entry(1)};
  apply(*a, turn);
  EXPECT_EQ(told_b, 2);
  Terminate kill;
  kill.run_id = "mine";
  apply(*b, kill);
  EXPECT_EQ(told_a, 1);
  b->watch({});
  apply(*a, op);
  kill.run_id = "order";
  apply(*a, kill);
  EXPECT_EQ(told_b, 2);
  EXPECT_FALSE(std::filesystem::exists(dir.file("a.db-notify")));
}

RC_GTEST_PROP(CheckpointCodec, WhatIsEncodedComesBack, ()) {
  replay::Checkpoint checkpoint;
  checkpoint.iteration = *rc::gen::arbitrary<std::uint64_t>();
  checkpoint.state = *rc::gen::string<std::string>();
  checkpoint.taken = *rc::gen::arbitrary<std::vector<std::uint64_t>>();
  checkpoint.done = *rc::gen::arbitrary<bool>();
  checkpoint.result = *rc::gen::string<std::string>();
  for (const std::string& key :
       *rc::gen::container<std::vector<std::string>>(rc::gen::string<std::string>())) {
    checkpoint.changes.push_back({key, std::nullopt});
    if (*rc::gen::arbitrary<bool>()) {
      checkpoint.changes.back().value = key;
    }
  }
  replay::Checkpoint decoded;
  const std::string bytes = encode_checkpoint(checkpoint);
  RC_ASSERT(decode_checkpoint(bytes, decoded));
  RC_ASSERT(decoded.iteration == checkpoint.iteration);
  RC_ASSERT(decoded.state == checkpoint.state);
  RC_ASSERT(decoded.taken == checkpoint.taken);
  RC_ASSERT(decoded.done == checkpoint.done);
  RC_ASSERT(decoded.result == checkpoint.result);
  RC_ASSERT(decoded.changes == checkpoint.changes);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    RC_ASSERT(!decode_checkpoint(std::string_view(bytes).substr(0, size), decoded));
  }
}

RC_GTEST_PROP(CheckpointCodec, AnyBytesAreReadWithoutHarm, ()) {
  std::string bytes = *rc::gen::string<std::string>();
  bytes.insert(bytes.begin(), 1);
  replay::Checkpoint decoded;
  static_cast<void>(decode_checkpoint(bytes, decoded));
}

}  // namespace
}  // namespace pawl::store
