//! Dates, timestamps and time zones are those of GoogleSQL's reference implementation.

use tonic::Code;

use super::Database;
use super::errors::expect;

#[tokio::test]
async fn texts_of_times_are_read_as_in_googlesql() {
    let database = Database::new();
    database
        .expect_values(&[
            ("CAST('2024-01-02 03:04:05.123456+05:30' AS TIMESTAMP)", "@1704144845.123456"),
            (
                "CAST('2024-01-02T03:04:05Z' AS TIMESTAMP), CAST('2024-1-2 3:4:5' AS TIMESTAMP)",
                "@1704164645, @1704164645",
            ),
            // The next minute, as a leap second is in Unix time.
            ("CAST('2016-12-31 23:59:60' AS TIMESTAMP)", "@1483228800"),
            ("CAST('2024-01-02 03:04:05 America/New_York' AS TIMESTAMP)", "@1704182645"),
            (
                "CAST('2024-01-02 03:04:05 UTC+2' AS TIMESTAMP), CAST('2024-01-02 +02' AS TIMESTAMP)",
                "@1704157445, @1704146400",
            ),
            // Skipped in New York, and there twice.
            ("TIMESTAMP('2024-03-10 02:30:00', 'America/New_York')", "@1710055800"),
            ("TIMESTAMP('2024-11-03 01:30:00', 'America/New_York')", "@1730611800"),
            ("TIMESTAMP(DATE '2024-07-01', 'America/New_York')", "@1719806400"),
        ])
        .await;
    let code = Code::OutOfRange;
    expect(
        code,
        &[
            (
                "SELECT CAST('2024-01-02 03:04:05.1234567' AS TIMESTAMP)",
                "Invalid timestamp: '2024-01-02 03:04:05.1234567'",
            ),
            ("SELECT CAST(' 2024-01-02' AS TIMESTAMP)", "Invalid timestamp"),
            ("SELECT CAST('2024-01-02 03:04' AS TIMESTAMP)", "Invalid timestamp"),
            ("SELECT CAST('2024-01-02Z' AS TIMESTAMP)", "Invalid timestamp"),
            ("SELECT CAST('2024-01-02 03:04:05  +02' AS TIMESTAMP)", "Invalid timestamp"),
            ("SELECT CAST('2024-01-02 ' AS DATE)", "Invalid date: '2024-01-02 '"),
            ("SELECT CAST('24-01-02' AS DATE)", "Invalid date: '24-01-02'"),
            (
                "SELECT TIMESTAMP('2024-01-02 03:04:05+05', '+02')",
                "Timezone is not allowed in \"2024-01-02 03:04:05+05\"",
            ),
            ("SELECT TIMESTAMP('2024-01-02 03:04:05', 'Mars/Olympus')", "Invalid time zone: `Mars/Olympus`"),
            ("SELECT STRING(TIMESTAMP_SECONDS(0), '+15')", "Invalid time zone: `+15`"),
        ],
    )
    .await;
}

#[tokio::test]
async fn formats_are_read_as_in_googlesql() {
    let database = Database::new();
    database
        .expect_values(&[
            // The zone of the text decides, and beside %s none does.
            ("PARSE_TIMESTAMP('%F %T%z', '2024-01-02 03:04:05+0500', '+02')", "@1704146645"),
            ("PARSE_TIMESTAMP('%s %z', '100 +0500'), PARSE_TIMESTAMP('%s', '-100', '+02')", "@100, @-100"),
            ("PARSE_TIMESTAMP('%F %T %Z', '2024-07-02 03:04:05 America/New_York')", "@1719903845"),
            ("PARSE_TIMESTAMP('%F %H %p', '2024-01-02 03 PM'), PARSE_TIMESTAMP('%F %I %p', '2024-01-02 03 PM')", "@1704164400, @1704207600"),
            ("PARSE_TIMESTAMP('%F %T', '2016-12-31 23:59:60')", "@1483228800"),
            // Digits after the sixth are left out, and after the third an element takes no more.
            ("PARSE_TIMESTAMP('%F %H:%M:%E*S%Ez', '2024-01-02 03:04:05.123456789Z')", "@1704164645.123456"),
            ("PARSE_TIMESTAMP('%F %H:%M:%E3S4', '2024-01-02 03:04:05.1234')", "@1704164645.123"),
            ("PARSE_TIMESTAMP('%E4Y%m%d', '  20240102  '), PARSE_TIMESTAMP('%Y%m%d', '20240102')", "@1704153600, @1704153600"),
            ("PARSE_DATE('%b %e, %y', 'jan  2, 24'), PARSE_DATE('%C%y', '1999'), PARSE_DATE('%y', '69')", "2024-1-2, 1999-1-1, 1969-1-1"),
        ])
        .await;
    expect(
        Code::OutOfRange,
        &[
            ("SELECT PARSE_TIMESTAMP('%F', '2024-01-02 x')", "Failed to parse input string \"2024-01-02 x\""),
            ("SELECT PARSE_TIMESTAMP('%F %T', '2024-01-02')", "Failed to parse"),
            ("SELECT PARSE_TIMESTAMP('%H', '24')", "Failed to parse"),
            ("SELECT PARSE_DATE('%F', '2023-02-29')", "Failed to parse"),
            ("SELECT PARSE_TIMESTAMP('%F %', '2024-01-02 x')", "cannot end with a single '%'"),
        ],
    )
    .await;
    expect(
        Code::InvalidArgument,
        &[("SELECT PARSE_DATE('%F %H', '2024-01-02 03')", "%H is not allowed for the DATE type")],
    )
    .await;
    expect(Code::Unimplemented, &[("SELECT PARSE_DATE('%Y-%j', '2024-060')", "the format element `%j`")])
        .await;
}

#[tokio::test]
async fn times_are_shown_as_in_googlesql() {
    Database::new()
        .expect_values(&[
            (
                "STRING(TIMESTAMP_SECONDS(0), 'Asia/Kolkata'), STRING(TIMESTAMP_MILLIS(1), '-8')",
                "\"1970-01-01 05:30:00+05:30\", \"1969-12-31 16:00:00.001-08\"",
            ),
            // An offset is printed in whole minutes; this zone was 7 h 52 min 58 s behind UTC.
            (
                "STRING(TIMESTAMP '1800-01-01 00:00:00', 'America/Los_Angeles')",
                "\"1799-12-31 16:08:00-07:52\"",
            ),
            (
                "FORMAT_TIMESTAMP('%Z %z %Ez', TIMESTAMP_SECONDS(0), 'Asia/Kolkata')",
                "\"UTC+0530 +0530 +05:30\"",
            ),
            ("FORMAT_TIMESTAMP('%Z|%Z', TIMESTAMP_SECONDS(0), '-8')", "\"UTC-8|UTC-8\""),
            (
                "FORMAT_TIMESTAMP('%c|%D|%x|%X|%r|%R|%k|%l|%P', TIMESTAMP_SECONDS(0))",
                "\"Thu Jan  1 00:00:00 1970|01/01/70|01/01/70|00:00:00|12:00:00 AM|00:00| 0|12|am\"",
            ),
            (
                "FORMAT_TIMESTAMP('%G %g %V %U %W %u %w %C %Q %s %%', TIMESTAMP_SECONDS(-1))",
                "\"1970 70 01 52 52 3 3 19 4 -1 %\"",
            ),
            (
                "FORMAT_TIMESTAMP('%E*S %E0S %E1S %E9S', TIMESTAMP_MILLIS(1250))",
                "\"01.25 01 01.2 01.250000000\"",
            ),
            ("FORMAT_DATE('%F %H:%M:%E3S %Z', DATE '2024-01-02')", "\"2024-01-02 %H:%M:%E3S %Z\""),
            (
                "STRING(TIMESTAMP '9999-12-31 23:59:59.999999'), STRING(TIMESTAMP '0001-01-01 00:00:00')",
                "\"9999-12-31 23:59:59.999999+00\", \"0001-01-01 00:00:00+00\"",
            ),
        ])
        .await;
}

#[tokio::test]
async fn parts_of_times_are_those_of_googlesql() {
    let database = Database::new();
    database
        .expect_values(&[
            ("EXTRACT(WEEK FROM DATE '2023-01-01'), EXTRACT(WEEK FROM DATE '2022-01-01'), EXTRACT(WEEK(MONDAY) FROM DATE '2023-01-01')", "1, 0, 0"),
            ("EXTRACT(ISOWEEK FROM DATE '2023-01-01'), EXTRACT(ISOYEAR FROM DATE '2023-01-01'), EXTRACT(QUARTER FROM DATE '2023-12-01')", "52, 2022, 4"),
            ("EXTRACT(HOUR FROM TIMESTAMP_SECONDS(0) AT TIME ZONE 'Asia/Kolkata'), EXTRACT(DATE FROM TIMESTAMP_SECONDS(0) AT TIME ZONE '-8')", "5, 1969-12-31"),
            ("DATE_TRUNC(DATE '2024-02-29', WEEK), DATE_TRUNC(DATE '2024-02-29', ISOWEEK), DATE_TRUNC(DATE '2024-02-29', WEEK(THURSDAY))", "2024-2-25, 2024-2-26, 2024-2-29"),
            ("DATE_TRUNC(DATE '2023-01-01', ISOYEAR), DATE_TRUNC(DATE '2024-05-29', QUARTER), DATE_TRUNC(DATE '2024-05-29', YEAR)", "2022-1-3, 2024-4-1, 2024-1-1"),
            ("TIMESTAMP_TRUNC(TIMESTAMP '2024-07-01 03:00:00', DAY, 'America/New_York')", "@1719720000"),
            ("TIMESTAMP_TRUNC(TIMESTAMP '2024-07-01 03:40:00', HOUR, 'Asia/Kolkata')", "@1719804600"),
            ("DATE_DIFF(DATE '2017-10-15', DATE '2017-10-14', WEEK), DATE_DIFF(DATE '2017-12-30', DATE '2014-12-30', ISOYEAR), DATE_DIFF(DATE '2017-12-18', DATE '2017-12-17', WEEK(MONDAY))", "1, 2, 1"),
            ("DATE_DIFF(DATE '2024-01-01', DATE '2023-12-31', YEAR), DATE_DIFF(DATE '2024-01-01', DATE '2023-12-31', MONTH), DATE_DIFF(DATE '2024-03-31', DATE '2024-01-01', QUARTER)", "1, 1, 0"),
            ("DATE_ADD(DATE '2024-02-29', INTERVAL 1 YEAR), DATE_SUB(DATE '2024-05-31', INTERVAL 1 QUARTER), DATE_ADD(DATE '2024-01-01', INTERVAL -1 WEEK)", "2025-2-28, 2024-2-29, 2023-12-25"),
            ("DATE(TIMESTAMP_SECONDS(0), '-1'), CURRENT_DATE('UTC') = CURRENT_DATE()", "1969-12-31, true"),
        ])
        .await;
    expect(
        Code::OutOfRange,
        &[
            ("SELECT DATE_TRUNC(DATE '0001-01-01', WEEK(TUESDAY))", "Date is out of supported range"),
            ("SELECT DATE_ADD(DATE '9999-12-31', INTERVAL 1 DAY)", "Date is out of supported range"),
            (
                "SELECT TIMESTAMP_ADD(TIMESTAMP_SECONDS(0), INTERVAL 9223372036854775807 DAY)",
                "Timestamp is out of supported range",
            ),
            ("SELECT DATE(10000, 1, 1)", "Input calculates to invalid date"),
        ],
    )
    .await;
    expect(
        Code::InvalidArgument,
        &[
            (
                "SELECT TIMESTAMP_ADD(TIMESTAMP_SECONDS(0), INTERVAL 1 MONTH)",
                "TIMESTAMP_ADD does not support the part MONTH",
            ),
            ("SELECT DATE_TRUNC(DATE '2024-01-01', HOUR)", "DATE_TRUNC does not support the part HOUR"),
            ("SELECT DATE_ADD(DATE '2024-01-01', 1)", "`1` is no part of a time for DATE_ADD"),
            ("SELECT DATE_TRUNC(DATE '2024-01-01')", "DATE_TRUNC without a part of a time"),
        ],
    )
    .await;
}
