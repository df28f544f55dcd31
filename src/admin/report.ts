/** What a command has done: a text for people, everything else for `--json`. */
export interface Report {
  readonly text: string;
  readonly [field: string]: unknown;
}
