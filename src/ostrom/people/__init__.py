"""People who take part in a study: visits, assignment, lobby, clocks, endings, payments and their register."""
