// The functions of the ABI for clients.
#include <exception>
#include <string>
#include <utility>

#include <boost/json.hpp>

#include "capi/basics.h"
#include "capi/call.h"
#include "capi/engine.h"
#include "format/entry_json.h"
#include "format/json_printer.h"
#include "format/json_reader.h"
#include "pawl/errors.hpp"
#include "sdk/event.h"
#include "store/catalog.h"
#include "store/rows.h"

namespace pawl::capi {

namespace {

namespace json = boost::json;

// The same for a call about one run. `body`: CallEnd(ApiEngine&, std::string id).
template <class Body>
pawl_status with_run(pawl_engine handle, pawl_bytes run_id, const Body& body) noexcept {
  return with_engine(handle, [&](ApiEngine& engine) -> CallEnd {
    PAWL_TRY_ASSIGN(const std::string_view id, read_name(run_id, "run_id"));
    return body(engine, std::string(id));
  });
}

Answer failed(const Error& error) {
  Answer answer;
  answer.status = static_cast<pawl_status>(error.code);
  answer.payload = error.message;
  return answer;
}

// What a callback of the engine is told, as an answer. `fill`: void(T&, Answer&).
template <class T, class Fill>
engine::Callback<T> answer_by(ApiEngine::Done done, Fill fill) {
  return [done = std::move(done), fill](Result<T> result) {
    if (!result) {
      done(failed(result.error()));
      return;
    }
    Answer answer;
    fill(*result, answer);
    done(std::move(answer));
  };
}
engine::Callback<void> answer_by(ApiEngine::Done done) {
  return [done = std::move(done)](const Result<void>& result) {
    done(result ? Answer{} : failed(result.error()));
  };
}
engine::Callback<bool> flag_by(ApiEngine::Done done) {
  return answer_by<bool>(std::move(done),
                         [](bool flag, Answer& answer) { answer.flag = flag ? 1 : 0; });
}

struct SignalEvent {
  std::string extra;
  std::string dedupe;
};

Result<SignalEvent> read_event(std::string_view signal, pawl_bytes given, const char* what) {
  PAWL_TRY_ASSIGN(const std::string_view text, read_text(given, what));
  if (text.empty()) {
    return SignalEvent{};
  }
  const Result<json::value> value = format::parse_json(text);
  const json::object* const object = value ? value->if_object() : nullptr;
  if (object == nullptr) {
    return make_error(ErrorCode::kMalformedInput,
                      std::string(what) + ": a JSON object of CloudEvents attributes is expected");
  }
  pawl::Event event;
  for (const auto& [name, attribute] : *object) {
    if (!attribute.is_string()) {
      return make_error(ErrorCode::kMalformedInput, std::string(what) + ": the attribute '" +
                                                        std::string(name) + "' is no string");
    }
    std::string text_of(std::string_view(attribute.get_string()));
    if (name == "id") {
      event.id = std::move(text_of);
    } else if (name == "source") {
      event.source = std::move(text_of);
    } else if (name == "type") {
      event.type = std::move(text_of);
    } else if (name == "subject") {
      event.subject = std::move(text_of);
    } else if (name == "time") {
      event.time = std::move(text_of);
    } else if (name == "datacontenttype") {
      event.datacontenttype = std::move(text_of);
    } else if (name == "dataschema") {
      event.dataschema = std::move(text_of);
    } else if (name != "specversion") {
      event.extensions[std::string(name)] = std::move(text_of);
    }
  }
  try {
    return SignalEvent{pawl::detail::encode_event(signal, event), pawl::detail::dedupe_text(event)};
  } catch (const UsageError& error) {
    return make_error(ErrorCode::kInvalidArgument, error.what());
  }
}

Result<store::RunRow> find_row(store::Store& store, const std::string& id) {
  PAWL_TRY_ASSIGN(std::optional<store::RunRow> row, store.find_run(id, std::nullopt));
  if (!row) {
    return make_error(ErrorCode::kNotFound, "there is no run '" + id + "'");
  }
  return *std::move(row);
}

Result<json::object> describe(store::Store& store, const store::RunRow& row) {
  json::object object;
  object["id"] = row.id;
  object["number"] = row.number;
  object["kind"] = row.kind;
  object["uuid"] = row.uuid.to_string();
  object["status"] = store::status_name(row.status);
  object["waitingFor"] = row.waiting_for;
  object["started"] = row.created_ms;
  object["changed"] = row.changed_ms;
  object["paused"] = row.is_paused;
  json::object tags;
  PAWL_TRY_ASSIGN(const std::vector<store::Tag> stored, store.read_tags(row.key));
  for (const store::Tag& tag : stored) {
    tags[tag.name] = tag.value;
  }
  object["tags"] = std::move(tags);
  if (row.status == store::RunStatus::kBlocked) {
    PAWL_TRY_ASSIGN(const std::string reason, store.read_reason(row.key));
    object["reason"] = reason;
  }
  return object;
}

Answer read_answer(const Result<std::string>& text) {
  if (!text) {
    return failed(text.error());
  }
  Answer answer;
  answer.payload = *text;
  return answer;
}

struct ListQuery {
  store::RunFilter filter;
  store::RunCursor after;
  std::size_t limit = 100;
};

Error bad_query(const std::string& what) {
  return make_error(ErrorCode::kMalformedInput, "query: " + what);
}

Result<std::vector<std::string>> read_words(const json::value& value, std::string_view field) {
  const json::array* const list = value.if_array();
  std::vector<std::string> words;
  for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
    if (!(*list)[i].is_string()) {
      return bad_query("'" + std::string(field) + "' is a list of strings");
    }
    words.emplace_back(std::string_view((*list)[i].get_string()));
  }
  if (list == nullptr) {
    return bad_query("'" + std::string(field) + "' is a list of strings");
  }
  return words;
}

Result<ListQuery> read_query(pawl_bytes given) {
  PAWL_TRY_ASSIGN(const std::string_view text, read_text(given, "query"));
  ListQuery query;
  if (text.empty()) {
    return query;
  }
  PAWL_TRY_ASSIGN(const json::value value, format::parse_json(text));
  const json::object* const object = value.if_object();
  if (object == nullptr) {
    return bad_query("a JSON object is expected");
  }
  for (const auto& [name, field] : *object) {
    if (name == "kinds") {
      PAWL_TRY_ASSIGN(query.filter.kinds, read_words(field, name));
    } else if (name == "statuses") {
      PAWL_TRY_ASSIGN(const std::vector<std::string> words, read_words(field, name));
      for (const std::string& word : words) {
        const std::optional<store::RunStatus> status = store::find_status(word);
        if (!status) {
          return bad_query("there is no status '" + word + "'");
        }
        query.filter.statuses.push_back(*status);
      }
    } else if (name == "tags") {
      if (!field.is_object()) {
        return bad_query("'tags' is an object of strings");
      }
      for (const auto& tag : field.get_object()) {
        if (!tag.value().is_string()) {
          return bad_query("'tags' is an object of strings");
        }
        query.filter.tags.push_back(
            {std::string(tag.key()), std::string(std::string_view(tag.value().get_string()))});
      }
    } else if (name == "limit") {
      if (!field.is_int64() || field.get_int64() < 1 || field.get_int64() > 10'000) {
        return bad_query("'limit' is a number from 1 to 10000");
      }
      query.limit = static_cast<std::size_t>(field.get_int64());
    } else if (name == "cursor") {
      const std::string cursor(field.is_string() ? std::string_view(field.get_string()) : "?");
      if (!cursor.empty()) {
        const std::optional<store::RunCursor> after = store::parse_cursor(cursor);
        if (!after) {
          return bad_query("'cursor' is what an earlier answer had as 'next'");
        }
        query.after = *after;
      }
    } else {
      return bad_query("there is no field '" + std::string(name) + "'");
    }
  }
  return query;
}

}  // namespace
}  // namespace pawl::capi

using namespace pawl;  // NOLINT(google-build-using-namespace): only functions of the ABI follow.
using namespace pawl::capi;  // NOLINT(google-build-using-namespace)

pawl_status pawl_client_start(pawl_engine engine, const pawl_start_options* given, uint64_t tag,
                              pawl_reply* reply) {
  return with_engine(engine, [&](ApiEngine& it) -> CallEnd {
    PAWL_TRY_ASSIGN(const pawl_start_options options, read_struct(given, "options"));
    engine::StartRequest request;
    PAWL_TRY_ASSIGN(request.kind, read_name(options.kind, "options.kind"));
    PAWL_TRY_ASSIGN(request.id, read_text(options.id, "options.id"));
    PAWL_TRY_ASSIGN(request.input, read_bytes(options.input, "options.input"));
    if (request.input.empty()) {
      request.input = "null";
    }
    PAWL_TRY(check_size(request.input, it.payload_bytes_max(), "options.input"));
    if (options.on_existing < PAWL_EXISTING_RETURN || options.on_existing > PAWL_EXISTING_REPLACE) {
      return wrong_number("options.on_existing", options.on_existing);
    }
    constexpr store::OnExisting kOnExisting[] = {
        store::OnExisting::kReturn, store::OnExisting::kFail, store::OnExisting::kReplace};
    request.on_existing = kOnExisting[options.on_existing];
    PAWL_TRY_ASSIGN(auto tags, read_tags(options.tags));
    for (auto& [name, value] : tags) {
      request.tags.push_back({std::move(name), std::move(value)});
    }
    PAWL_TRY_ASSIGN(request.signal, read_text(options.signal, "options.signal"));
    if (!request.signal.empty()) {
      PAWL_TRY_ASSIGN(request.signal_payload,
                      read_bytes(options.signal_payload, "options.signal_payload"));
      PAWL_TRY(
          check_size(request.signal_payload, it.payload_bytes_max(), "options.signal_payload"));
      PAWL_TRY_ASSIGN(SignalEvent event,
                      read_event(request.signal, options.signal_event, "options.signal_event"));
      request.signal_extra = std::move(event.extra);
      request.signal_dedupe = std::move(event.dedupe);
    }
    return it.ask(
        [&](engine::Engine& asked, ApiEngine::Done done) {
          asked.start_run(std::move(request),
                          answer_by<engine::StartedRun>(
                              std::move(done), [](engine::StartedRun& run, Answer& answer) {
                                answer.payload = std::move(run.id);
                                answer.flag = run.is_new ? 1 : 0;
                              }));
        },
        tag, reply);
  });
}

pawl_status pawl_client_result(pawl_engine engine, pawl_bytes run_id, int64_t timeout_ms,
                               uint64_t tag, pawl_reply* reply) {
  return with_run(engine, run_id, [&](ApiEngine& it, std::string id) -> CallEnd {
    return it.ask(
        [&](engine::Engine& asked, ApiEngine::Done done) {
          asked.wait(std::string(id),
                     answer_by<engine::RunOutcome>(
                         std::move(done), [](engine::RunOutcome& run, Answer& answer) {
                           answer.payload = std::move(run.payload);
                           answer.run_status = static_cast<std::int32_t>(run.status);
                         }));
        },
        tag, reply, timeout_ms, /*waits=*/true);
  });
}

pawl_status pawl_client_signal(pawl_engine engine, pawl_bytes run_id, pawl_bytes signal,
                               pawl_bytes payload, pawl_bytes event, uint64_t tag,
                               pawl_reply* reply) {
  return with_run(engine, run_id, [&](ApiEngine& it, std::string id) -> CallEnd {
    PAWL_TRY_ASSIGN(const std::string_view name, read_name(signal, "signal"));
    PAWL_TRY_ASSIGN(const std::string_view bytes, read_bytes(payload, "payload"));
    PAWL_TRY(check_size(bytes, it.payload_bytes_max(), "payload"));
    PAWL_TRY_ASSIGN(SignalEvent attributes, read_event(name, event, "event"));
    return it.ask(
        [&](engine::Engine& asked, ApiEngine::Done done) {
          asked.signal(std::move(id), std::string(name), std::string(bytes),
                       std::move(attributes.extra), std::move(attributes.dedupe),
                       flag_by(std::move(done)));
        },
        tag, reply);
  });
}

pawl_status pawl_client_resolve(pawl_engine engine, pawl_bytes run_id, pawl_bytes promise,
                                pawl_bytes payload, uint64_t tag, pawl_reply* reply) {
  return with_run(engine, run_id, [&](ApiEngine& it, std::string id) -> CallEnd {
    PAWL_TRY_ASSIGN(const std::string_view name, read_name(promise, "promise"));
    PAWL_TRY_ASSIGN(const std::string_view bytes, read_bytes(payload, "payload"));
    PAWL_TRY(check_size(bytes, it.payload_bytes_max(), "payload"));
    return it.ask(
        [&](engine::Engine& asked, ApiEngine::Done done) {
          asked.resolve(std::move(id), std::string(name), std::string(bytes),
                        answer_by(std::move(done)));
        },
        tag, reply);
  });
}

pawl_status pawl_client_reject(pawl_engine engine, pawl_bytes run_id, pawl_bytes promise,
                               const pawl_failure* failure, uint64_t tag, pawl_reply* reply) {
  return with_run(engine, run_id, [&](ApiEngine& it, std::string id) -> CallEnd {
    PAWL_TRY_ASSIGN(const std::string_view name, read_name(promise, "promise"));
    PAWL_TRY_ASSIGN(const engine::Failure read, read_failure(failure));
    return it.ask(
        [&](engine::Engine& asked, ApiEngine::Done done) {
          asked.reject(std::move(id), std::string(name), engine::encode_failure(read),
                       answer_by(std::move(done)));
        },
        tag, reply);
  });
}

pawl_status pawl_client_cancel(pawl_engine engine, pawl_bytes run_id, pawl_bytes reason,
                               uint64_t tag, pawl_reply* reply) {
  return with_run(engine, run_id, [&](ApiEngine& it, std::string id) -> CallEnd {
    PAWL_TRY_ASSIGN(const std::string_view text, read_text(reason, "reason"));
    return it.ask(
        [&](engine::Engine& asked, ApiEngine::Done done) {
          asked.cancel(std::move(id), std::string(text), answer_by(std::move(done)));
        },
        tag, reply);
  });
}

pawl_status pawl_client_terminate(pawl_engine engine, pawl_bytes run_id, pawl_bytes reason,
                                  uint64_t tag, pawl_reply* reply) {
  return with_run(engine, run_id, [&](ApiEngine& it, std::string id) -> CallEnd {
    PAWL_TRY_ASSIGN(const std::string_view text, read_text(reason, "reason"));
    return it.ask(
        [&](engine::Engine& asked, ApiEngine::Done done) {
          asked.terminate(std::move(id), std::string(text), answer_by(std::move(done)));
        },
        tag, reply);
  });
}

pawl_status pawl_client_pause(pawl_engine engine, pawl_bytes run_id, int32_t is_paused,
                              uint64_t tag, pawl_reply* reply) {
  return with_run(engine, run_id, [&](ApiEngine& it, std::string id) -> CallEnd {
    return it.ask(
        [&](engine::Engine& asked, ApiEngine::Done done) {
          asked.pause(std::move(id), is_paused != 0, flag_by(std::move(done)));
        },
        tag, reply);
  });
}

pawl_status pawl_client_resume(pawl_engine engine, pawl_bytes run_id, uint64_t tag,
                               pawl_reply* reply) {
  return with_run(engine, run_id, [&](ApiEngine& it, std::string id) -> CallEnd {
    return it.ask(
        [&](engine::Engine& asked, ApiEngine::Done done) {
          asked.resume(std::move(id), answer_by(std::move(done)));
        },
        tag, reply);
  });
}

pawl_status pawl_client_describe(pawl_engine engine, pawl_bytes run_id, uint64_t tag,
                                 pawl_reply* reply) {
  return with_run(engine, run_id, [&](ApiEngine& it, std::string id) -> CallEnd {
    return it.ask_store(
        [id = std::move(id)](store::Store& store) {
          return read_answer([&]() -> Result<std::string> {
            PAWL_TRY_ASSIGN(const store::RunRow row, find_row(store, id));
            PAWL_TRY_ASSIGN(const json::object object, describe(store, row));
            return format::print_json(object);
          }());
        },
        tag, reply);
  });
}

pawl_status pawl_client_list(pawl_engine engine, pawl_bytes query, uint64_t tag,
                             pawl_reply* reply) {
  return with_engine(engine, [&](ApiEngine& it) -> CallEnd {
    PAWL_TRY_ASSIGN(ListQuery read, read_query(query));
    return it.ask_store(
        [read = std::move(read)](store::Store& store) {
          return read_answer([&]() -> Result<std::string> {
            PAWL_TRY_ASSIGN(const store::RunPage page,
                            store.catalog().list_runs(read.filter, read.after, read.limit));
            json::array runs;
            for (const store::RunRow& row : page.rows) {
              PAWL_TRY_ASSIGN(json::object object, describe(store, row));
              runs.emplace_back(std::move(object));
            }
            json::object list;
            list["runs"] = std::move(runs);
            list["next"] = page.next ? store::cursor_text(*page.next) : "";
            return format::print_json(list);
          }());
        },
        tag, reply);
  });
}

pawl_status pawl_client_history(pawl_engine engine, pawl_bytes run_id, uint64_t tag,
                                pawl_reply* reply) {
  return with_run(engine, run_id, [&](ApiEngine& it, std::string id) -> CallEnd {
    return it.ask_store(
        [id = std::move(id)](store::Store& store) {
          return read_answer([&]() -> Result<std::string> {
            PAWL_TRY_ASSIGN(const store::RunRow row, find_row(store, id));
            std::string text = "[";
            PAWL_TRY(store.read_log(row.key, 1, [&](const replay::Entry& entry) -> Result<void> {
              text += text.size() == 1 ? "" : ",\n";
              text += format::print_json(format::entry_to_json(entry));
              return {};
            }));
            return text + "]";
          }());
        },
        tag, reply);
  });
}
