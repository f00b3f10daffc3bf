#include "view/run_details.h"

#include <utility>

#include "replay/log.h"

namespace pawl::view {

namespace {

Result<void> read_children(store::Store& store, RunDetails& details) {
  store::RunFilter filter;
  filter.parent = details.row.key;
  std::optional<store::RunCursor> after = store::RunCursor();
  while (after && details.children.size() < kChildrenMax) {
    PAWL_TRY_ASSIGN(store::RunPage page, store.catalog().list_runs(filter, *after, kChildrenMax));
    for (store::RunRow& child : page.rows) {
      details.children.push_back(std::move(child));
    }
    after = page.next;
  }
  details.has_more_children = after.has_value();
  return {};
}

}  // namespace

Result<RunDetails> read_details(store::Store& store, const store::RunRow& row) {
  RunDetails details;
  details.row = row;
  PAWL_TRY_ASSIGN(store::RunImage image, store.catalog().read_image(row.key));
  details.input = std::move(image.input);
  details.tags = std::move(image.tags);
  details.reason = std::move(image.reason);
  details.blocked_by = std::move(image.blocked_by);
  details.needs = std::move(image.needs);
  details.inbox = std::move(image.inbox);
  details.tasks = std::move(image.tasks);
  details.compensations = std::move(image.compensations);
  for (store::PromiseRow& promise : image.promises) {
    if (!promise.is_resolved) {
      details.promises.push_back(std::move(promise.name));
    }
  }
  if (row.parent.run != 0) {
    PAWL_TRY_ASSIGN(details.parent, store.find_run(row.parent.run));
  }
  PAWL_TRY(read_children(store, details));
  replay::Log log;
  PAWL_TRY(
      store.read_log(row.key, 1, [&log](const replay::Entry& entry) { return log.load(entry); }));
  PAWL_TRY(log.finish_loading());
  details.last_seq = log.last_seq();
  if (store::is_closed(row.status)) {
    PAWL_TRY(store.read_last(row.key, [&details](const replay::Entry& entry) -> Result<void> {
      details.outcome = entry.payload;
      return {};
    }));
  } else {
    details.open_steps = open_steps(log);
  }
  return details;
}

}  // namespace pawl::view
