// Batches: parameters, answers, errors in the middle, prepared statements.
#include "store/postgres/batch.h"

#include <limits>

#include "postgres/support.h"
#include "store/rows.h"

namespace pawl::store::pg {
namespace {

class BatchTest : public ::testing::Test {
 protected:
  void SetUp() override { connection_ = connect(server_.url("postgres", "schema=public")); }

  std::int64_t count(const char* table = "t") {
    const Result<std::int64_t> rows =
        connection_->query_integer("SELECT count(*) FROM " + std::string(table));
    EXPECT_OK(rows);
    return rows ? *rows : -1;
  }
  void make_table() {
    EXPECT_OK(connection_->execute("CREATE TABLE {schema}.t(k int8 PRIMARY KEY)"));
  }

  PostgresServer server_;
  std::unique_ptr<Connection> connection_;
};

constexpr Statement kInsert{"insert", "INSERT INTO {schema}.t VALUES ($1)"};

std::string all_bytes() {
  std::string bytes;
  for (int i = 0; i < 256; ++i) {
    bytes.push_back(static_cast<char>(i));
  }
  return bytes;
}

TEST_F(BatchTest, ValuesComeBackAsTheyWere) {
  constexpr Statement kEcho{"echo",
                            "SELECT $1::int8, $2::int4, $3::bool, $4::text, $5::bytea, $6::uuid"};
  const Uuid uuid = *Uuid::parse("00112233-4455-6677-8899-aabbccddeeff");
  const std::string bytes = all_bytes();
  Batch batch(*connection_);
  std::vector<const Call*> numbers;
  for (const std::int64_t number :
       {std::int64_t{0}, std::int64_t{-1}, std::numeric_limits<std::int64_t>::min(),
        std::numeric_limits<std::int64_t>::max(), std::int64_t{0x0102030405060708}}) {
    numbers.push_back(&batch.add(kEcho)
                           .integer(number)
                           .integer4(static_cast<std::int32_t>(number))
                           .boolean(number < 0)
                           .text("Größe \U0001F40C")
                           .bytes(bytes)
                           .uuid(uuid));
  }
  const Call& empty =
      batch.add(kEcho).moment(0).integer4(1).boolean(true).text({}).bytes({}).uuid({});
  const Call& null = batch.add(kEcho).moment(kNever).null().null().null().null().null();
  EXPECT_OK(batch.run());

  const std::int64_t min = std::numeric_limits<std::int64_t>::min();
  const Row first = numbers[2]->rows()[0];
  EXPECT_EQ(first.as_integer(0), min);
  EXPECT_EQ(first.as_integer(1), 0);
  EXPECT_TRUE(first.as_bool(2));
  EXPECT_EQ(first.as_string(3), "Größe \U0001F40C");
  EXPECT_EQ(first.as_bytes(4), bytes);
  EXPECT_EQ(first.as_uuid(5), uuid);
  EXPECT_EQ(numbers[1]->rows()[0].as_integer(0), -1);
  EXPECT_EQ(numbers[1]->rows()[0].as_integer(1), -1);
  EXPECT_EQ(numbers[3]->rows()[0].as_integer(0), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(numbers[4]->rows()[0].as_integer(0), 0x0102030405060708);
  EXPECT_EQ(numbers[4]->rows()[0].as_integer(1), 0x05060708);

  EXPECT_FALSE(empty.rows()[0].is_null(3));
  EXPECT_FALSE(empty.rows()[0].is_null(4));
  EXPECT_EQ(empty.rows()[0].as_bytes(4), "");
  for (int column = 0; column < 6; ++column) {
    EXPECT_TRUE(null.rows()[0].is_null(column));
  }
  EXPECT_EQ(null.rows()[0].as_moment(0), kNever);
  EXPECT_EQ(null.rows()[0].as_integer(1), 0);
  EXPECT_EQ(null.rows()[0].as_uuid(5), Uuid{});
}

TEST_F(BatchTest, LargeBytesComeBack) {
  std::string bytes(50'000'000, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<char>(i * 31 + i / 251);
  }
  Batch batch(*connection_);
  const Call& call = batch.add({"", "SELECT $1::bytea"}).bytes(bytes);
  EXPECT_OK(batch.run());
  EXPECT_TRUE(call.rows()[0].as_bytes(0) == bytes);
}

TEST_F(BatchTest, StatementsThatAreTooLargeAreRefusedBeforeTheyAreSent) {
  const std::string bytes(1, 'x');
  Batch batch(*connection_);
  batch.add({"", "SELECT $1::bytea"}).bytes({bytes.data(), std::size_t{1'100'000'000}});
  EXPECT_EQ(error_of(batch.run()).code, ErrorCode::kLimitExceeded);
  EXPECT_EQ(connection_->counters().statements, 0U);
}

TEST_F(BatchTest, ArraysComeBackAsRows) {
  constexpr Statement kUnnest{
      "unnest",
      "SELECT * FROM unnest($1::int8[], $2::int4[], $3::text[], $4::bytea[], $5::uuid[], "
      "$6::bool[])"};
  const Uuid uuid = *Uuid::parse("ffffffff-ffff-ffff-ffff-fffffffffffe");
  Int8Array longs;
  Int4Array ints;
  TextArray texts;
  ByteaArray blobs;
  UuidArray uuids;
  BoolArray bools;
  longs.add(-5);
  longs.add_null();
  longs.add_moment(kNever);
  longs.add_moment(std::int64_t{1} << 40U);
  ints.add(-7);
  ints.add(0x01020304);
  ints.add_null();
  ints.add(0);
  for (const std::string_view text : {"", "a,b\"{}", "NULL"}) {
    texts.add(text);
  }
  texts.add_null();
  const std::string bytes = all_bytes();
  blobs.add_null();
  blobs.add(bytes);
  blobs.add({});
  blobs.add(std::string_view("\0", 1));
  uuids.add(uuid);
  uuids.add_null();
  uuids.add({});
  uuids.add(uuid);
  bools.add(true);
  bools.add(false);
  bools.add_null();
  bools.add(true);
  const Int8Array no_longs;
  const TextArray no_texts;

  Batch batch(*connection_);
  const Call& full =
      batch.add(kUnnest).array(longs).array(ints).array(texts).array(blobs).array(uuids).array(
          bools);
  const Call& none = batch.add({"", "SELECT unnest($1::int8[]), cardinality($2::text[])"})
                         .array(no_longs)
                         .array(no_texts);
  const Call& sizes = batch.add({"", "SELECT cardinality($1::int8[]), cardinality($2::text[])"})
                          .array(no_longs)
                          .array(no_texts);
  EXPECT_OK(batch.run());
  const Rows& rows = full.rows();
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[0].as_integer(0), -5);
  EXPECT_TRUE(rows[1].is_null(0));
  EXPECT_TRUE(rows[2].is_null(0));
  EXPECT_EQ(rows[3].as_integer(0), std::int64_t{1} << 40U);
  EXPECT_EQ(rows[0].as_integer(1), -7);
  EXPECT_EQ(rows[1].as_integer(1), 0x01020304);
  EXPECT_TRUE(rows[2].is_null(1));
  EXPECT_EQ(rows[0].as_string(2), "");
  EXPECT_FALSE(rows[0].is_null(2));
  EXPECT_EQ(rows[1].as_string(2), "a,b\"{}");
  EXPECT_EQ(rows[2].as_string(2), "NULL");
  EXPECT_TRUE(rows[3].is_null(2));
  EXPECT_TRUE(rows[0].is_null(3));
  EXPECT_EQ(rows[1].as_bytes(3), bytes);
  EXPECT_FALSE(rows[2].is_null(3));
  EXPECT_EQ(rows[3].as_bytes(3), std::string_view("\0", 1));
  EXPECT_EQ(rows[0].as_uuid(4), uuid);
  EXPECT_TRUE(rows[1].is_null(4));
  EXPECT_TRUE(rows[0].as_bool(5));
  EXPECT_FALSE(rows[1].as_bool(5));
  EXPECT_TRUE(rows[2].is_null(5));
  EXPECT_TRUE(none.rows().empty());
  EXPECT_EQ(sizes.rows()[0].as_integer(0), 0);
  EXPECT_EQ(sizes.rows()[0].as_integer(1), 0);

  longs.clear();
  longs.add(3);
  Batch again(*connection_);
  const Call& cleared = again.add({"", "SELECT unnest($1::int8[])"}).array(longs);
  EXPECT_OK(again.run());
  ASSERT_EQ(cleared.rows().size(), 1U);
  EXPECT_EQ(cleared.rows()[0].as_integer(0), 3);
}

// Both sides have more to send than sockets hold.
TEST_F(BatchTest, LargeBatchesDoNotBlock) {
  constexpr Statement kEcho{"echo", "SELECT $1::bytea || $1::bytea"};
  const std::string bytes(2'000, 'x');
  Batch batch(*connection_, Effect::kReads);
  std::vector<const Call*> calls;
  for (int i = 0; i < 10'000; ++i) {
    calls.push_back(&batch.add(kEcho).bytes(bytes));
  }
  const Connection::Counters before = connection_->counters();
  EXPECT_OK(batch.run());
  EXPECT_EQ(connection_->counters().statements, before.statements + 10'000);
  EXPECT_EQ(connection_->counters().round_trips, before.round_trips + 1);
  for (const Call* const call : calls) {
    ASSERT_EQ(call->rows()[0].as_bytes(0).size(), 4'000U);
  }
}

TEST_F(BatchTest, WithoutBeginABatchIsOneTransaction) {
  make_table();
  Batch good(*connection_);
  const Call& call = good.add(kInsert).integer(1);
  good.add(kInsert).integer(2);
  EXPECT_OK(good.run());
  EXPECT_EQ(call.rows().affected(), 1);
  EXPECT_EQ(count(), 2);
  EXPECT_FALSE(connection_->in_transaction());
}

TEST_F(BatchTest, AnErrorInTheMiddleUndoesAllAndIsThatOfTheFirst) {
  make_table();
  for (const bool explicitly : {false, true}) {
    Batch batch(*connection_);
    if (explicitly) {
      batch.begin();
    }
    for (int i = 0; i < 1'000; ++i) {
      batch.add(kInsert).integer(i);
    }
    batch.add(kInsert).integer(7);
    batch.add({"", "SELECT 1/0"});
    for (int i = 1'000; i < 2'000; ++i) {
      batch.add(kInsert).integer(i);
    }
    if (explicitly) {
      batch.commit();
    }
    const Error error = error_of(batch.run());
    EXPECT_EQ(error.code, ErrorCode::kInvalidState);
    EXPECT_TRUE(contains(error.message, "duplicate key")) << error.message;
    EXPECT_EQ(batch.sqlstate(), "23505");
    EXPECT_EQ(batch.constraint(), "t_pkey");
    EXPECT_FALSE(connection_->in_transaction());
    EXPECT_EQ(count(), 0);
  }
  EXPECT_EQ(connection_->counters().connects, 1U);
}

TEST_F(BatchTest, ATransactionSpansBatches) {
  make_table();
  Batch first(*connection_);
  first.begin();
  first.add(kInsert).integer(1);
  EXPECT_OK(first.run());
  EXPECT_TRUE(connection_->in_transaction());
  Batch second(*connection_);
  second.add(kInsert).integer(2);
  second.commit();
  EXPECT_OK(second.run());
  EXPECT_FALSE(connection_->in_transaction());
  EXPECT_EQ(count(), 2);

  Batch third(*connection_);
  third.begin();
  third.add(kInsert).integer(3);
  EXPECT_OK(third.run());
  connection_->rollback();
  EXPECT_FALSE(connection_->in_transaction());
  EXPECT_EQ(count(), 2);

  // The transaction that is open ends with the error of a later batch.
  Batch fourth(*connection_);
  fourth.begin();
  fourth.add(kInsert).integer(4);
  EXPECT_OK(fourth.run());
  Batch fifth(*connection_);
  fifth.add(kInsert).integer(4);
  EXPECT_EQ(error_of(fifth.run()).code, ErrorCode::kInvalidState);
  EXPECT_FALSE(connection_->in_transaction());
  EXPECT_EQ(count(), 2);
}

TEST_F(BatchTest, ASnapshotStaysAsItIs) {
  make_table();
  for (const Isolation isolation : {Isolation::kSnapshot, Isolation::kReadCommitted}) {
    Batch first(*connection_, Effect::kReads);
    first.begin(isolation);
    first.add({"", "SELECT 1"});
    EXPECT_OK(first.run());
    const std::int64_t before = count();
    server_.execute("INSERT INTO t SELECT count(*) FROM t");
    EXPECT_EQ(count(), isolation == Isolation::kSnapshot ? before : before + 1);
    connection_->rollback();
  }
  Batch writes(*connection_);
  writes.begin(Isolation::kSnapshot);
  writes.add(kInsert).integer(9);
  EXPECT_EQ(error_of(writes.run()).code, ErrorCode::kStoreIo);
}

// What only shows when the transaction commits.
TEST_F(BatchTest, AnErrorOfTheCommitIsAnError) {
  EXPECT_OK(
      connection_->execute("CREATE TABLE p(k int8 PRIMARY KEY);"
                           "CREATE TABLE t(k int8 REFERENCES p DEFERRABLE INITIALLY DEFERRED)"));
  for (const bool explicitly : {false, true}) {
    Batch batch(*connection_);
    if (explicitly) {
      batch.begin();
    }
    batch.add(kInsert).integer(1);
    if (explicitly) {
      batch.commit();
    }
    EXPECT_EQ(error_of(batch.run()).code, ErrorCode::kInvalidState);
    EXPECT_EQ(batch.sqlstate(), "23503");
    EXPECT_EQ(count(), 0);
  }
}

TEST_F(BatchTest, CommitWithoutATransactionIsRefused) {
  make_table();
  Batch batch(*connection_);
  batch.add(kInsert).integer(1);
  batch.commit();
  const Error error = error_of(batch.run());
  EXPECT_EQ(error.code, ErrorCode::kInvalidState);
  EXPECT_TRUE(contains(error.message, "no transaction is open")) << error.message;
  EXPECT_EQ(count(), 0);
}

TEST_F(BatchTest, AFailedPrepareIsTriedAgain) {
  Batch batch(*connection_);
  batch.add(kInsert).integer(1);
  const Error error = error_of(batch.run());
  EXPECT_EQ(error.code, ErrorCode::kStoreUnusable);
  EXPECT_TRUE(contains(error.message, "42P01")) << error.message;
  make_table();
  Batch again(*connection_);
  again.add(kInsert).integer(1);
  EXPECT_OK(again.run());
  EXPECT_EQ(count(), 1);
}

TEST_F(BatchTest, StatementsArePreparedOnce) {
  make_table();
  for (int i = 0; i < 5; ++i) {
    Batch batch(*connection_);
    batch.add(kInsert).integer(i);
    batch.add(kInsert).integer(100 + i);
    EXPECT_OK(batch.run());
  }
  EXPECT_OK(connection_->query_integer("SELECT 1"));
  const Result<std::int64_t> prepared = connection_->query_integer(
      "SELECT count(*) FROM pg_prepared_statements WHERE name LIKE 'pawl_insert%'");
  EXPECT_OK(prepared);
  EXPECT_EQ(*prepared, 1);
}

TEST_F(BatchTest, WithPrepareOffNothingIsPrepared) {
  connection_ = connect(server_.url("postgres", "schema=public&prepare=off"));
  make_table();
  Batch batch(*connection_);
  batch.begin();
  batch.add(kInsert).integer(1);
  batch.add(kInsert).integer(2);
  batch.commit();
  EXPECT_OK(batch.run());
  EXPECT_EQ(count(), 2);
  EXPECT_EQ(*connection_->query_integer("SELECT count(*) FROM pg_prepared_statements"), 0);
}

TEST_F(BatchTest, StatementsThatTheServerHasLostArePreparedAgain) {
  make_table();
  for (int i = 0; i < 6; ++i) {
    Batch batch(*connection_);
    batch.begin();
    batch.add(kInsert).integer(i);
    batch.commit();
    EXPECT_OK(batch.run());
    EXPECT_OK(connection_->execute("DEALLOCATE ALL"));
  }
  EXPECT_EQ(count(), 6);
}

TEST_F(BatchTest, StatementsLostWithinATransactionAreAnErrorThatNamesTheOption) {
  make_table();
  const auto insert = [this](std::int64_t key) -> Result<void> {
    Batch begin(*connection_);
    begin.begin();
    begin.add(kInsert).integer(key);
    PAWL_TRY(begin.run());
    PAWL_TRY(connection_->execute("DEALLOCATE ALL"));
    Batch end(*connection_);
    end.add(kInsert).integer(key + 1);
    end.commit();
    return end.run();
  };
  const Error error = error_of(insert(1));
  EXPECT_EQ(error.code, ErrorCode::kStoreBusy);
  EXPECT_TRUE(contains(error.message, "prepare=off")) << error.message;
  EXPECT_FALSE(connection_->in_transaction());
  EXPECT_EQ(count(), 0);
  // As long as there is a reason to hope; then nothing is prepared any more.
  EXPECT_TRUE(comes_true([&] { return insert(1).has_value(); }));
  EXPECT_EQ(count(), 2);
}

// A pooler gave us a connection on which somebody has prepared it.
TEST_F(BatchTest, StatementsThatExistAlreadyDoNoHarm) {
  make_table();
  Batch first(*connection_);
  first.add(kInsert).integer(1);
  EXPECT_OK(first.run());
  Batch names(*connection_);
  const Call& found = names.add({"", "SELECT name FROM pg_prepared_statements"});
  EXPECT_OK(names.run());
  const std::string prepared = found.rows()[0].as_string(0);
  EXPECT_EQ(prepared.find("pawl_insert_"), 0U) << prepared;

  std::unique_ptr<Connection> other = connect(server_.url("postgres", "schema=public"));
  EXPECT_OK(other->execute("PREPARE \"" + prepared + "\" AS SELECT 1"));
  Batch second(*other);
  second.add(kInsert).integer(2);
  EXPECT_OK(second.run());
  EXPECT_EQ(count(), 2);
}

TEST_F(BatchTest, AChangedTableIsNoReasonToFail) {
  constexpr Statement kAll{"all", "SELECT * FROM {schema}.t"};
  make_table();
  Batch before(*connection_, Effect::kReads);
  before.add(kAll);
  EXPECT_OK(before.run());
  server_.execute("ALTER TABLE t ADD COLUMN more int8");
  for (int i = 0; i < 2; ++i) {
    Batch after(*connection_, Effect::kReads);
    after.add(kAll);
    EXPECT_OK(after.run());
  }
}

// The server takes no zero bytes, and nothing that is not UTF-8.
TEST_F(BatchTest, TextsHoldAnyByte) {
  const std::string all = [] {
    std::string bytes;
    for (int i = 0; i < 256; ++i) {
      bytes += static_cast<char>(i);
    }
    return bytes;
  }();
  const std::string written = "\xf4\x8f\xbc\x80";  // What a zero byte is written as.
  for (const std::string& value :
       {std::string("a\0b", 3), std::string("\xff\xfe"), all, written, written.substr(1),
        std::string("\xf4\x8f\xbb\xbf"), std::string("plain \xc3\xa4"), std::string()}) {
    TextArray array;
    array.add(value);
    Batch batch(*connection_, Effect::kReads);
    const Call& one = batch.add({"", "SELECT $1::text"}).text(value);
    const Call& many = batch.add({"", "SELECT unnest($1::text[])"}).array(array);
    EXPECT_OK(batch.run());
    EXPECT_EQ(one.rows()[0].as_string(0), value);
    EXPECT_EQ(many.rows()[0].as_string(0), value);
  }
}

TEST_F(BatchTest, BadValuesAreRefusedWithTheServersReason) {
  Batch batch(*connection_);
  batch.add({"", "SELECT $1::int4"}).text("12345678");
  EXPECT_EQ(error_of(batch.run()).code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(*connection_->query_integer("SELECT 5"), 5);
  EXPECT_EQ(*connection_->query_integer("SELECT 5 WHERE false"), 0);
}

}  // namespace
}  // namespace pawl::store::pg
