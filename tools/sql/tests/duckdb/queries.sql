-- Of ranges on each prefix of the keys.
SELECT count(*) FROM flights;
SELECT count(*), count(dep_delay), count(DISTINCT carrier) FROM flights WHERE carrier = 'UA';
SELECT count(*), sum(distance) FROM flights WHERE carrier IN ('UA', 'DL', 'ZZ') AND flight < 500;
SELECT flight, origin, sched, dest FROM flights WHERE carrier = 'B6' AND flight BETWEEN 100 AND 400;
SELECT sched, dest, dep_delay FROM flights WHERE carrier = 'AA' AND flight = 1 AND origin = 'JFK';
SELECT sched, dest, dep_delay FROM flights WHERE carrier = 'AA' AND flight = 1 AND sched >= TIMESTAMP '2013-01-01 00:00:00' AND sched < TIMESTAMP '2013-01-05 00:00:00';
SELECT carrier, flight, origin FROM flights WHERE sched = TIMESTAMP '2013-01-01 06:00:00';
SELECT carrier, flight, sched FROM flights WHERE origin = 'LGA' AND sched BETWEEN TIMESTAMP '2013-01-01 06:00:00' AND TIMESTAMP '2013-01-01 08:15:00';
SELECT count(*) FROM flights WHERE origin LIKE 'L%' AND sched < TIMESTAMP '2013-01-02 00:00:00';
SELECT count(*) FROM flights WHERE carrier LIKE 'A%';
SELECT count(*) FROM flights WHERE carrier > 'EV' AND carrier <= 'MQ';
SELECT count(*) FROM flights WHERE carrier >= 'US' OR carrier < 'AA';
SELECT count(*) FROM flights WHERE NOT (carrier = 'UA') AND origin <> 'EWR';
SELECT count(*) FROM flights WHERE carrier = 'UA' AND carrier = 'DL';
SELECT count(*) FROM flights WHERE carrier = 'a#b' OR carrier = '';
SELECT count(*) FROM flights WHERE flight = 65536 OR flight = -1;
SELECT count(*) FROM flights WHERE (carrier = 'UA' AND flight = 15) OR (carrier = 'DL' AND flight = 1);
SELECT sched FROM flights WHERE carrier = 'UA' AND flight = 15 AND origin = 'EWR' AND sched > TIMESTAMP '2012-12-31 23:59:59.999999';
SELECT count(*) FROM flights WHERE carrier = 'UA' AND dep_delay > 60 AND distance BETWEEN 200 AND 2000;
SELECT count(*) FROM flights WHERE tailnum IS NULL OR dep_delay IS NULL;
-- Of order, with and without a limit.
SELECT carrier, flight, sched FROM flights WHERE carrier = 'UA'
ORDER BY flight, sched DESC, origin LIMIT 20;
SELECT carrier, flight, sched FROM flights WHERE carrier = 'UA'
ORDER BY flight DESC, sched, origin LIMIT 20;
SELECT carrier, flight, sched, origin FROM flights
ORDER BY carrier, flight, sched DESC, origin LIMIT 50;
SELECT origin, sched, carrier, flight FROM flights WHERE origin = 'JFK'
ORDER BY sched DESC, carrier, flight LIMIT 25;
SELECT origin, sched, carrier, flight FROM flights WHERE origin = 'JFK'
ORDER BY sched, carrier, flight LIMIT 25 OFFSET 10;
SELECT origin, sched, carrier, flight FROM flights
ORDER BY origin DESC, sched DESC, carrier DESC, flight DESC LIMIT 30;
SELECT carrier, flight, sched, dep_delay FROM flights WHERE dep_delay IS NOT NULL
ORDER BY dep_delay DESC, carrier, flight, sched LIMIT 15;
SELECT carrier, flight, sched, origin FROM flights WHERE sched < TIMESTAMP '2013-01-01 07:00:00'
ORDER BY sched, carrier, flight, origin;
SELECT origin, sched, temp FROM weather WHERE origin = 'EWR'
ORDER BY sched DESC LIMIT 12;
SELECT origin, sched, temp FROM weather WHERE origin IN ('EWR', 'LGA') AND sched < TIMESTAMP '2013-01-02 00:00:00'
ORDER BY sched, origin;
SELECT sched, temp FROM weather WHERE origin = 'JFK' AND temp IS NOT NULL
ORDER BY temp, sched LIMIT 5;
-- Of distinct values, least and greatest ones.
SELECT DISTINCT carrier FROM flights;
SELECT DISTINCT origin FROM flights
ORDER BY origin;
SELECT DISTINCT carrier, flight FROM flights WHERE carrier IN ('HA', 'OO', 'F9');
SELECT DISTINCT origin, carrier FROM flights WHERE origin > 'EWR';
SELECT min(carrier), max(carrier), min(sched), max(sched) FROM flights;
SELECT min(sched), max(sched) FROM flights WHERE carrier = 'UA' AND flight = 15;
SELECT min(flight), max(flight), count(DISTINCT flight) FROM flights WHERE carrier = 'WN';
SELECT DISTINCT ON (origin) origin, sched, temp FROM weather
ORDER BY origin, sched DESC;
-- Of groups.
SELECT origin, count(*), sum(distance), min(air_time), max(air_time) FROM flights GROUP BY origin;
SELECT carrier, count(*), avg(dep_delay), stddev(dep_delay) FROM flights GROUP BY carrier;
SELECT carrier, origin, count(*) FROM flights WHERE carrier IN ('B6', 'UA') GROUP BY carrier, origin;
SELECT dest, count(*) AS n FROM flights GROUP BY dest HAVING count(*) > 20
ORDER BY n DESC, dest LIMIT 10;
SELECT date_trunc('hour', sched) AS h, count(*) FROM flights WHERE origin = 'EWR' GROUP BY date_trunc('hour', sched)
ORDER BY h LIMIT 48;
SELECT extract(hour FROM sched) AS h, avg(arr_delay), count(arr_delay) FROM flights GROUP BY extract(hour FROM sched);
SELECT date_part('dow', sched) AS d, count(*) FROM flights WHERE carrier < 'C' GROUP BY date_part('dow', sched);
SELECT carrier, count(*) FILTER (WHERE dep_delay > 15), count(*) FILTER (WHERE dep_delay IS NULL) FROM flights GROUP BY carrier;
SELECT origin, dest, count(*) FROM flights WHERE dest IN ('LAX', 'SFO') GROUP BY GROUPING SETS ((origin, dest), (origin), ());
SELECT origin, carrier, sum(distance) FROM flights WHERE carrier IN ('AA', 'DL') GROUP BY ROLLUP (origin, carrier);
SELECT carrier, string_agg(DISTINCT origin, ',' ORDER BY origin) FROM flights GROUP BY carrier;
SELECT CASE WHEN dep_delay > 60 THEN 'late' WHEN dep_delay > 0 THEN 'some' WHEN dep_delay IS NULL THEN 'none' ELSE 'early' END AS k, count(*) FROM flights GROUP BY 1;
SELECT origin, avg(temp), min(humid), max(wind_speed), sum(precip) FROM weather GROUP BY origin;
SELECT date_trunc('day', sched) AS d, min(temp), max(temp) FROM weather WHERE origin = 'LGA' GROUP BY date_trunc('day', sched)
ORDER BY d;
SELECT corr(temp, humid) FROM weather WHERE origin = 'JFK';
-- Of joins.
SELECT count(*), avg(w.temp) FROM flights f JOIN weather w ON f.origin = w.origin AND date_trunc('hour', f.sched) = w.sched;
SELECT f.carrier, f.flight, f.sched, w.wind_speed FROM flights f JOIN weather w ON f.origin = w.origin AND date_trunc('hour', f.sched) = w.sched WHERE f.carrier = 'HA';
SELECT f.carrier, count(*), avg(w.visib) FROM flights f JOIN weather w ON f.origin = w.origin AND date_trunc('hour', f.sched) = w.sched WHERE w.precip > 0 OR w.wind_speed > 15 GROUP BY f.carrier;
SELECT f.flight, f.sched, f.dest FROM (VALUES ('UA', 15), ('HA', 51), ('ZZ', 1)) AS t(c, n) JOIN flights f ON f.carrier = t.c AND f.flight = t.n;
SELECT t.k, count(f.flight) FROM (VALUES ('UA', 'one'), ('DL', 'two'), ('XX', 'three')) AS t(c, k) LEFT JOIN flights f ON f.carrier = t.c GROUP BY t.k;
SELECT a.carrier, a.flight, a.sched, b.sched FROM flights a JOIN flights b ON a.carrier = b.carrier AND a.flight = b.flight AND a.origin = b.origin AND b.sched = a.sched + INTERVAL '1 day' WHERE a.carrier = 'AA' AND a.flight < 100;
SELECT count(*) FROM flights a JOIN flights b ON a.origin = b.origin AND a.sched = b.sched AND a.carrier < b.carrier;
SELECT w.origin, w.sched FROM weather w LEFT JOIN flights f ON f.origin = w.origin AND f.sched = w.sched WHERE f.carrier IS NULL AND w.sched < TIMESTAMP '2013-01-03 00:00:00';
SELECT coalesce(a.origin, b.origin) AS o, a.n, b.m FROM (SELECT origin, count(*) AS n FROM flights GROUP BY origin) a FULL JOIN (SELECT origin, count(*) AS m FROM weather WHERE origin <> 'JFK' GROUP BY origin) b ON a.origin = b.origin;
SELECT count(*) FROM flights WHERE carrier IN (SELECT carrier FROM flights WHERE dest = 'HNL');
SELECT DISTINCT carrier FROM flights f WHERE NOT EXISTS (SELECT 1 FROM flights g WHERE g.carrier = f.carrier AND g.origin = 'JFK');
SELECT w.origin, w.sched, w.temp FROM weather w WHERE EXISTS (SELECT 1 FROM flights f WHERE f.origin = w.origin AND f.sched = w.sched AND f.carrier = 'UA') AND w.temp < 40;
SELECT carrier, flight, sched FROM flights f WHERE dep_delay = (SELECT max(dep_delay) FROM flights g WHERE g.carrier = f.carrier) AND carrier < 'E';
SELECT f.carrier, f.flight FROM flights f JOIN (SELECT origin, max(sched) AS latest FROM flights GROUP BY origin) l ON f.origin = l.origin AND f.sched = l.latest;
SELECT origin, sched, carrier, flight FROM (SELECT * FROM flights WHERE origin = 'LGA' ORDER BY sched, carrier, flight LIMIT 40) AS earliest JOIN (VALUES ('AA'), ('DL')) AS t(c) ON carrier = c;
-- Of windows.
SELECT * FROM (SELECT carrier, flight, sched, row_number() OVER (PARTITION BY carrier ORDER BY sched DESC, flight, origin) AS n FROM flights) AS numbered WHERE n <= 3;
SELECT flight, sched, dep_delay - lag(dep_delay) OVER (PARTITION BY flight, origin ORDER BY sched) FROM flights WHERE carrier = 'HA';
SELECT origin, sched, avg(temp) OVER (PARTITION BY origin ORDER BY sched ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) FROM weather WHERE sched < TIMESTAMP '2013-01-04 00:00:00';
SELECT carrier, n, rank() OVER (ORDER BY n DESC) FROM (SELECT carrier, count(*) AS n FROM flights GROUP BY carrier) AS counts;
SELECT carrier, sched, sum(distance) OVER (PARTITION BY carrier ORDER BY sched, flight, origin) FROM flights WHERE carrier IN ('OO', 'YV', 'HA');
SELECT dest, first_value(carrier) OVER (PARTITION BY dest ORDER BY sched, carrier, flight) FROM flights WHERE origin = 'LGA' AND sched < TIMESTAMP '2013-01-01 09:00:00';
-- Of sets and subqueries.
SELECT carrier FROM flights WHERE origin = 'EWR' INTERSECT SELECT carrier FROM flights WHERE origin = 'LGA';
SELECT carrier FROM flights EXCEPT SELECT carrier FROM flights WHERE origin = 'JFK';
SELECT origin, count(*) FROM (SELECT origin FROM flights WHERE carrier = 'UA' UNION ALL SELECT origin FROM weather WHERE temp < 30) AS all_rows GROUP BY origin;
WITH late AS (SELECT carrier, flight, sched FROM flights WHERE dep_delay > 100) SELECT carrier, count(*) FROM late GROUP BY carrier;
-- The last digits of an average differ with the order of its rows, so that one computed twice may be greater than itself.
WITH days AS (SELECT origin, date_trunc('day', sched) AS d, avg(temp) AS t FROM weather GROUP BY 1, 2) SELECT a.origin, count(*) FROM days a JOIN days b ON a.d = b.d AND a.t > b.t + 0.000001 GROUP BY a.origin;
SELECT count(*) FROM (SELECT carrier, flight FROM flights WHERE carrier = 'DL' LIMIT 17) AS few;
