/**
 * SQL for a time in the API's format, in two thirds of the time of `to_char`. The added microsecond preserves trailing zeros.
 * Valid for the years 1 to 9999.
 */
export const instantText = (column: string): string =>
  `substr(to_json(date_trunc('milliseconds', ${column} AT TIME ZONE 'UTC') + interval '1 microsecond')::text, 2, 23) || 'Z'`;
