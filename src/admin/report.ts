/** What a command has done: a text for people, everything else for `--json`. */
export interface Report {
  readonly text: string;
  /** When the command has done its work and not all is well; 0 unless told. */
  readonly exitCode?: number;
  readonly [field: string]: unknown;
}

/** Does a command's work and prints its report. */
export type Run = (work: () => Promise<Report>) => Promise<void>;
