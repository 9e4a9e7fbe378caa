SELECT * FROM analytics WHERE _key = 'phone#4c410523#20190502'

SELECT * FROM analytics(with_history => TRUE) WHERE _key = 'phone#4c410523#20190501'

SELECT stats_summary['os_build'] AS os FROM analytics WHERE _key = 'phone#4c410523#20190501'

SELECT _key, stats_summary['os_build'] AS os, stats_summary['user_agent'] AS agent FROM analytics
WHERE _key >= 'phone#4c410523#20190501' AND _key < 'phone#4c410523#201906201'

SELECT _key FROM analytics(with_history => TRUE)
WHERE (_key >= 'phone#4c410523#20190501' AND _key < 'phone#4c410523#201906201')
   OR (_key >= 'phone#5c10102#20190501' AND _key < 'phone#5c10102#20190601')
LIMIT 10

SELECT _key FROM analytics WHERE _key = 'phone#4c410523#20190501' OR _key = 'phone#4c410523#20190502'

SELECT _key FROM analytics WHERE _key IS IN ('phone#4c410523#20190501', 'phone#4c410523#20190502')

SELECT cell_plan FROM analytics WHERE _key LIKE 'phone#5c%'

SELECT _key, cell_plan FROM analytics(with_history => TRUE, latest_n => 1) WHERE cell_plan['data_plan_01gb'] IS NOT NULL

SELECT _key FROM analytics WHERE REGEXP_CONTAINS(_key, '.*#20190501$')

SELECT _key FROM analytics WHERE _key LIKE 'phone#%' AND TO_INT64(stats_summary['connected_cell']) > 0

SELECT _key FROM analytics WHERE stats_summary['os_build'] = 'PQ2A.190406.000'

SELECT _key, CASE cell_plan['data_plan_10gb'] WHEN 'true' THEN 'passed-test' ELSE 'failed-test' END AS test FROM analytics LIMIT 4

SELECT _key, MAP_KEYS(cell_plan) AS keys FROM analytics

SELECT MAP_CONTAINS_KEY(cell_plan, b'data_plan_05gb') AS results FROM analytics

SELECT MAP_EMPTY(cell_plan) AS results FROM analytics

SELECT MAP_ENTRIES(cell_plan) AS entries FROM analytics LIMIT 1

SELECT u.value AS indexed_value, u.key AS indexed_qualifier, ARRAY_AGG(_key) AS user_keys
FROM analytics, UNNEST(MAP_ENTRIES(cell_plan)) u GROUP BY 1, 2

SELECT cell_plan['data_plan_01gb'] AS plan FROM analytics(as_of => TIMESTAMP('1970-01-01 00:02:00Z')) WHERE _key = 'phone#4c410523#20190501'

SELECT cell_plan['data_plan_01gb'][0].value AS now, cell_plan['data_plan_01gb'][SAFE_OFFSET(1)].timestamp AS before
FROM analytics(with_history => TRUE) WHERE _key = 'phone#4c410523#20190501'

SELECT _key, plan, _timestamp FROM UNPACK((
  SELECT _key, cell_plan['data_plan_01gb'] AS plan FROM analytics(with_history => TRUE, after => TIMESTAMP_SECONDS(50), before_or_equal => TIMESTAMP_SECONDS(200))
))

SELECT TIMESTAMP_TRUNC(_timestamp, MINUTE) AS minute, COUNT(*) AS changes
FROM UNPACK((SELECT cell_plan FROM analytics(with_history => TRUE))) GROUP BY 1 ORDER BY minute

SELECT SPLIT(_key, '#')[1] AS phone, COUNT(*) AS days, SUM(TO_INT64(stats_summary['connected_cell'])) AS connected,
  AVG(TO_INT64(stats_summary['connected_wifi'])) AS share
FROM analytics GROUP BY phone ORDER BY days DESC

SELECT CAST(stats_summary['os_build'] AS STRING) AS build, COUNT(*) AS n FROM analytics GROUP BY build HAVING COUNT(*) > 1

SELECT DISTINCT SPLIT(_key, '#')[2] AS day FROM analytics ORDER BY day DESC

-- @key BYTES phone#4c410523#20190505
SELECT _key, stats_summary['os_build'] AS os FROM analytics WHERE _key = @key

-- @build STRING PQ2A.190406.000
-- @most INT64 1
SELECT _key FROM analytics WHERE CAST(stats_summary['os_build'] AS STRING) = @build LIMIT @most

SELECT user_id, purchase_date, order_number, product FROM sales

SELECT _key, product['product_name'] AS name FROM sales WHERE user_id = 'user1' AND purchase_date > '2025-05-01'

SELECT user_id, purchase_date, COUNT(*) AS orders FROM sales GROUP BY user_id, purchase_date

SELECT views['page'] AS views, views['page'] > 123 AS popular FROM counters WHERE _key LIKE 'user12%'

SELECT CAST('291' AS INT64), CAST('2020-06-02 17:00:53.110+00:00' AS TIMESTAMP), PARSE_DATE('%Y%m%d', '20081225'), [1.5, NULL], NULL

SELECT nosuch FROM analytics

SELECT _key FROM analytics UNION ALL SELECT _key FROM sales

SELECT 1 / 0
