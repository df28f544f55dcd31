/** The result of a command: a text for people, and all other fields for `--json`. */
export interface Report {
  readonly text: string;
  /** Set if the command has done its work but found a problem; defaults to 0. */
  readonly exitCode?: number;
  readonly [field: string]: unknown;
}

/** Does a command's work and prints its report. */
export type Run = (work: () => Promise<Report>) => Promise<void>;
