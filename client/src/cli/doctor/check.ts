/** The result of a check. */
export interface Finding {
  /** `warning`: everything syncs, but somebody should know. */
  readonly level: 'ok' | 'warning' | 'failed';
  readonly what: string;
  readonly detail: string;
}

export const ok = (what: string, detail: string): Finding => ({ level: 'ok', what, detail });
export const warning = (what: string, detail: string): Finding => ({ level: 'warning', what, detail });
export const failed = (what: string, detail: string): Finding => ({ level: 'failed', what, detail });

/** A check that cannot be made has failed; the others go on. */
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
