#include "store/postgres/server_error.h"

#include <array>
#include <cstddef>

namespace pawl::store::pg {

namespace {

struct Rule {
  std::string_view prefix;  // Of the code.
  ErrorCode meaning;
  std::string_view advice;
};

// The first that fits holds. What is not listed is kStoreIo, which is tried again.
constexpr std::array kRules = {
    Rule{"40003", ErrorCode::kUnknownOutcome, ""},
    Rule{"08007", ErrorCode::kUnknownOutcome, ""},
    Rule{"40", ErrorCode::kStoreBusy, "; another transaction was in the way, try again"},
    Rule{"55P03", ErrorCode::kStoreBusy, "; another transaction holds a lock, try again"},
    Rule{"55006", ErrorCode::kStoreBusy, "; somebody else uses it, try again"},
    Rule{"57014", ErrorCode::kStoreBusy, "; it was cancelled or took too long, try again"},
    Rule{"53100", ErrorCode::kStoreFull,
         "; the server's disk is full, free some space and try again"},
    Rule{"53300", ErrorCode::kStoreBusy,
         "; raise the server's max_connections or open fewer connections"},
    Rule{"53", ErrorCode::kStoreBusy, "; the server is short of something, try again"},
    Rule{"57P04", ErrorCode::kStoreUnusable, "; the database has been dropped"},
    Rule{"57P03", ErrorCode::kStoreIo, "; the server is starting, stopping or recovering"},
    Rule{"57P", ErrorCode::kStoreIo, "; the server has ended the connection"},
    Rule{"25006", ErrorCode::kStoreIo,
         "; this server only reads: it may be a standby or be about to become the primary; with "
         "several hosts in the URL add target_session_attrs=read-write"},
    Rule{"08P01", ErrorCode::kStoreUnusable,
         "; a pooler may refuse what a server takes: connect to the server, or add prepare=off to "
         "the "
         "store's URL"},
    Rule{"28P01", ErrorCode::kStoreUnusable,
         "; check the user and its password (in the URL, in PGPASSWORD or in a password file)"},
    Rule{"28", ErrorCode::kStoreUnusable,
         "; check the user in the URL, and what the server's pg_hba.conf allows it"},
    Rule{"3D000", ErrorCode::kStoreUnusable,
         "; create the database or correct its name in the URL"},
    Rule{"3F000", ErrorCode::kStoreUnusable, "; create the schema or correct its name in the URL"},
    Rule{"42501", ErrorCode::kStoreUnusable, "; grant the user this right"},
    Rule{"42P05", ErrorCode::kStoreBusy,
         "; this happens behind a pooler in transaction mode: nothing has changed, try again, and "
         "add prepare=off to the store's URL"},
    Rule{"26000", ErrorCode::kStoreBusy,
         "; this happens behind a pooler in transaction mode: nothing has changed, try again, and "
         "add prepare=off to the store's URL"},
    Rule{"42P01", ErrorCode::kStoreUnusable,
         "; tables are missing or are those of another version"},
    Rule{"42703", ErrorCode::kStoreUnusable,
         "; the tables are not as Pawl has made them, or are those of another version"},
    Rule{"42", ErrorCode::kStoreUnusable, ""},
    Rule{"XX001", ErrorCode::kStoreCorrupt, "; stop, and restore a copy"},
    Rule{"XX002", ErrorCode::kStoreCorrupt,
         "; stop, and rebuild the index (REINDEX) or restore a copy"},
    Rule{"22", ErrorCode::kInvalidArgument, ""},
    Rule{"23", ErrorCode::kInvalidState, ""},
    Rule{"54000", ErrorCode::kLimitExceeded,
         "; what PostgreSQL has in an index may have some 2,600 bytes: ids, kinds, names, tags, "
         "keys of state"},
    Rule{"54", ErrorCode::kLimitExceeded, ""},
    Rule{"0A", ErrorCode::kStoreUnusable, ""},
};

const Rule* rule_for(std::string_view sqlstate) {
  if (!sqlstate.empty()) {
    for (const Rule& rule : kRules) {
      if (sqlstate.starts_with(rule.prefix)) {
        return &rule;
      }
    }
  }
  return nullptr;
}

bool is_code(std::string_view text) {
  for (const char byte : text) {
    if ((byte < '0' || byte > '9') && (byte < 'A' || byte > 'Z')) {
      return false;
    }
  }
  return text.size() == 5;
}

}  // namespace

ErrorCode meaning_of(std::string_view sqlstate) {
  const Rule* const rule = rule_for(sqlstate);
  return rule == nullptr ? ErrorCode::kStoreIo : rule->meaning;
}

std::string_view advice_for(std::string_view sqlstate) {
  const Rule* const rule = rule_for(sqlstate);
  return rule == nullptr ? "" : rule->advice;
}

bool ends_connection(std::string_view sqlstate) {
  return sqlstate.starts_with("08") || sqlstate.starts_with("57P");
}

std::string one_line(std::string_view message) {
  std::string line;
  while (!message.empty()) {
    const std::size_t end = message.find('\n');
    std::string_view part = message.substr(0, end);
    message = end == std::string_view::npos ? std::string_view() : message.substr(end + 1);
    while (!part.empty() && (part.front() == ' ' || part.front() == '\t')) {
      part.remove_prefix(1);
    }
    if (part.empty() || part.starts_with("LOCATION:")) {
      continue;
    }
    line += line.empty() ? "" : "; ";
    while (!part.empty()) {
      const std::size_t gap = part.find(":  ");
      line += part.substr(0, gap);
      if (gap == std::string_view::npos) {
        break;
      }
      line += ": ";
      part.remove_prefix(gap + 3);
      if (is_code(part.substr(0, 5)) && part.substr(5, 2) == ": ") {
        part.remove_prefix(7);
      }
    }
  }
  return line;
}

}  // namespace pawl::store::pg
