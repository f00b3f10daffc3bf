#include "store/postgres/image_rows.h"

#include "store/postgres/records.h"

// $1 namespace, $2 and $3 the range.
#define PAWL_PG_IN_RANGE(x, key) x ".ns = $1 AND " x "." key " > $2 AND " x "." key " <= $3"

namespace pawl::store::pg {

namespace {

constexpr Statement kRuns{
    "image_runs",
    "SELECT " PAWL_PG_RUN_COLUMNS("r.") " FROM {schema}.pawl_run AS r WHERE " PAWL_PG_IN_RANGE(
        "r", "key") " ORDER BY r.key"};
constexpr Statement kInputs{
    "image_inputs", "SELECT i.run, i.input FROM {schema}.pawl_input AS i WHERE " PAWL_PG_IN_RANGE(
                        "i", "run") " ORDER BY i.run"};
constexpr Statement kTags{
    "image_tags",
    "SELECT t.run, t.name, t.value FROM {schema}.pawl_tag AS t WHERE " PAWL_PG_IN_RANGE(
        "t", "run") " ORDER BY t.run, t.name, t.value"};
constexpr Statement kReasons{
    "image_reasons",
    "SELECT w.run, w.reason, w.blocked_by, w.needs FROM {schema}.pawl_reason AS w "
    "WHERE " PAWL_PG_IN_RANGE("w", "run") " ORDER BY w.run"};
constexpr Statement kInboxes{
    "image_inboxes",
    "SELECT " PAWL_PG_ARRIVAL_COLUMNS("i.") " FROM {schema}.pawl_inbox AS i "
                                            "WHERE " PAWL_PG_IN_RANGE(
                                                "i", "run") " ORDER BY i.run, i.key"};
constexpr Statement kTasks{
    "image_tasks",
    "SELECT " PAWL_PG_TASK_COLUMNS
    " FROM {schema}.pawl_task AS t JOIN {schema}.pawl_run AS r ON r.ns = t.ns AND r.key = t.run "
    "WHERE " PAWL_PG_IN_RANGE("t", "run") " AND " PAWL_PG_IN_RANGE("r",
                                                                   "key") " ORDER BY t.run, t.key"};
constexpr Statement kPromises{
    "image_promises",
    "SELECT p.run, p.name, p.resolved FROM {schema}.pawl_promise AS p WHERE " PAWL_PG_IN_RANGE(
        "p", "run") " ORDER BY p.run, p.name"};
constexpr Statement kCompensations{
    "image_compensations",
    "SELECT c.position, c.state, c.attempt, c.due, c.name, c.outcome, c.input, c.run FROM "
    "{schema}.pawl_compensation AS c WHERE " PAWL_PG_IN_RANGE("c", "run") " ORDER BY c.run, "
                                                                          "c.position"};
constexpr Statement kDedupes{
    "image_dedupes",
    "SELECT r.key, d.id FROM {schema}.pawl_run AS r JOIN {schema}.pawl_dedupe AS d ON d.ns = $1 "
    "AND d.chain = coalesce(r.chain, r.key) WHERE " PAWL_PG_IN_RANGE("r", "key") " ORDER BY r.key, "
                                                                               "d.id"};
constexpr Statement kChildren{
    "image_children",
    "SELECT r.parent, r.parent_command FROM {schema}.pawl_run AS r WHERE " PAWL_PG_IN_RANGE(
        "r", "parent") " AND r.status IN (1, 2, 3, 8) ORDER BY r.parent, r.key"};

}  // namespace

ImageRows::ImageRows(Connection& connection, std::int64_t ns, const KeyRange& range)
    : ns_(ns),
      range_(range),
      batch_(connection, Effect::kReads),
      runs_(add(kRuns)),
      inputs_(add(kInputs), 0),
      tags_(add(kTags), 0),
      reasons_(add(kReasons), 0),
      inboxes_(add(kInboxes), 1),
      tasks_(add(kTasks), 1),
      promises_(add(kPromises), 0),
      compensations_(add(kCompensations), 7),
      dedupes_(add(kDedupes), 0),
      children_(add(kChildren), 0) {}

const Call& ImageRows::add(const Statement& statement) {
  return batch_.add(statement).integer(ns_).integer(range_.after).integer(range_.upto);
}

Result<void> ImageRows::read() { return batch_.run(); }

bool ImageRows::next(VisitedRun& to) {
  if (next_ == runs_.rows().size()) {
    return false;
  }
  to = {};
  RunImage& image = to.image;
  image.row = read_run(runs_.rows()[next_++]).row;
  const RunKey run = image.row.key;
  inputs_.each(run, [&](const Row& row) { image.input = row.as_string(1); });
  tags_.each(run,
             [&](const Row& row) { image.tags.push_back({row.as_string(1), row.as_string(2)}); });
  reasons_.each(run, [&](const Row& row) {
    image.reason = row.as_string(1);
    if (!row.is_null(2)) {
      image.blocked_by = row.as_string(2);
    }
    image.needs = row.as_string(3);
  });
  inboxes_.each(run, [&](const Row& row) { image.inbox.push_back(read_stored_arrival(row)); });
  tasks_.each(run, [&](const Row& row) { image.tasks.push_back(read_task(row)); });
  promises_.each(
      run, [&](const Row& row) { image.promises.push_back({row.as_string(1), row.as_bool(2)}); });
  compensations_.each(
      run, [&](const Row& row) { image.compensations.push_back(read_compensation(row)); });
  dedupes_.each(run, [&](const Row& row) { image.dedupe.push_back(row.as_string(1)); });
  children_.each(run, [&](const Row& row) { to.children.push_back(row.as_string(1)); });
  return true;
}

}  // namespace pawl::store::pg
