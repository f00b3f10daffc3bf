// RunDocument: all there is of one run, and its form as one file. See docs/formats/run.md.
// Value type; copies share the texts of their entries.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/uuid.h"
#include "replay/entry.h"
#include "replay/log.h"
#include "replay/text_pool.h"
#include "store/run_image.h"
#include "store/store.h"

namespace pawl::portable {

// Keeps what the views of entries point to.
class EntryKeeper {
 public:
  // A copy that is valid as long as this lives.
  replay::Entry keep(const replay::Entry& entry);
  std::string_view keep(std::string_view text) { return texts_.add(text).view(); }

 private:
  replay::TextPool texts_;
  std::deque<replay::Checkpoint> checkpoints_;
};

struct RunDocument {
  store::RunImage image;
  std::vector<replay::Entry> log;        // In order of seq,
  std::vector<replay::Entry> forgotten;  // as well. Their views are kept by
  std::shared_ptr<EntryKeeper> keeper = std::make_shared<EntryKeeper>();
};

// All parts are of one moment, also of a run that goes on meanwhile. Errors of the store;
// kNotFound.
Result<RunDocument> read_document(store::Store& store, store::RunKey run);

// The file: JSON, a line for each entry and row.
std::string to_json(const RunDocument& document);
// kMalformedInput names line and column, or the field; kCorruptLog is for what no run can have
// written. What it returns has been checked (see check_document).
Result<RunDocument> from_json(std::string_view text);

// The log, with finish_loading() done.
Result<replay::Log> load_log(const RunDocument& document);

// Says what is wrong with a run that could not go on, or that would do what its code never asked
// for: the log does not load, a command has the id of another run, the status does not fit the log,
// or a task or an arrival is for nothing that the log knows.
Result<void> check_document(const RunDocument& document);

// New ids of commands by their old ones, if the run `from` becomes the run `to`: of those before
// `end` whose ids are made from the run id.
std::map<std::string, std::string> made_ids(const replay::Log& log, replay::RecordId end,
                                            const Uuid& from, const Uuid& to);
// The same run with another run id. A checked document stays one.
Result<void> give_run_id(RunDocument& document, const Uuid& uuid);

// To put it into a store, but for what loops have forgotten: that is for people to look at.
store::CreateRun make_create_run(const RunDocument& document, std::int64_t now_ms);

}  // namespace pawl::portable
