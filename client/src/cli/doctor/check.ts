/** The result of a check. */
export interface Finding {
  /** `warning`: everything syncs, but the user should know. */
  readonly level: 'ok' | 'warning' | 'failed';
  readonly what: string;
  readonly detail: string;
}

export const ok = (what: string, detail: string): Finding => ({ level: 'ok', what, detail });
export const warning = (what: string, detail: string): Finding => ({ level: 'warning', what, detail });
export const failed = (what: string, detail: string): Finding => ({ level: 'failed', what, detail });

/** Runs a check. One that throws has failed; the remaining checks still run. */
export async function checked(
  what: string,
  check: () => Promise<Finding | readonly Finding[]>,
  sentenceOf: (error: unknown) => string,
): Promise<readonly Finding[]> {
  try {
    return [await check()].flat();
  } catch (error) {
    return [failed(what, sentenceOf(error))];
  }
}
