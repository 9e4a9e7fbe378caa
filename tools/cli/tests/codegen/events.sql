-- Made by `keyderive codegen --sql` from a layout file, for Bigtable's SQL.
-- The server seeks by conditions on the key's columns as they are stored, from the left, salt first; a condition on an
-- expression is computed for every row.

-- Keys `EventKey`: <salt 0 to 3>#<user_id>#<site>#<at>#<seq>
-- Rows `Event`
SELECT
  `user_id` AS `user_id`,
  `site` AS `site`,
  9223372036854775807 - CAST(`at` AS INT64) AS `at`,
  CAST(`seq` AS INT64) AS `seq`,
  CAST(`cf`['kind'] AS STRING) AS `kind`,
  TO_INT64(`cf`['amount']) AS `amount`
FROM `events`;
