# Cooperation by agent and round from oTree's wide table, in base R:
#   ostrom export RUN --format otree --out exported
#   Rscript examples/cooperation.R exported/all_apps_wide.csv
path <- commandArgs(trailingOnly = TRUE)[1]
wide <- read.csv(path, check.names = FALSE, na.strings = "")
columns <- grep("\\.player\\.cooperative$", names(wide), value = TRUE)
long <- do.call(rbind, lapply(columns, function(column) {
  parts <- strsplit(column, ".", fixed = TRUE)[[1]]
  data.frame(
    app = parts[1], round = as.integer(parts[2]),
    agent = wide[["participant.agent"]], cooperative = wide[[column]]
  )
}))
long <- long[!is.na(long$cooperative), ]
print(aggregate(cooperative ~ app + agent + round, data = long, FUN = mean))
