/** The request got no answer, or an incomplete one. */
export class NetworkError extends Error {
  override readonly name = 'NetworkError';
}

/** No byte was sent or received for too long. The cause of a NetworkError. */
export class SilenceError extends Error {
  override readonly name = 'SilenceError';

  constructor(ms: number) {
    super(`the connection was silent for ${Math.round(ms / 1_000)} s`);
  }
}

/** The session has ended, or its account is gone: the user has to sign in again. */
export class SignInRequired extends Error {
  override readonly name = 'SignInRequired';
}

/** The answer of the service violates its contract. */
export class InvalidAnswer extends Error {
  override readonly name = 'InvalidAnswer';
}

/** The request that was refused. */
interface Asked {
  readonly method: string;
  readonly url: string;
}

/** The service refused a request. Handle it by `status`; show `error` to users. */
export class ApiError extends Error {
  override readonly name = 'ApiError';

  private constructor(
    readonly status: number,
    /** the reason given by the service */
    readonly error: string,
    /** all other fields of the answer, such as `needsBootstrap`, `details` or `code` */
    readonly fields: Readonly<Record<string, unknown>>,
    readonly headers: Headers,
    request: Asked,
  ) {
    // An encrypted path is unreadable, and may have 4,096 characters.
    const path = new URL(request.url, 'http://relative').pathname.slice(0, 100);
    super(`${request.method} ${path} answered ${status}: ${error}`);
  }

  /** Identifies the request in the log of the service. */
  get requestId(): string | null {
    return this.headers.get('x-request-id');
  }

  static async of(request: Asked, answer: Response): Promise<ApiError> {
    const { status, headers } = answer;
    return ApiError.from(request, { status, headers, fields: fieldsOf(await answer.text()) });
  }

  /** Takes an answer, or one item of a batch answer, to this request. */
  static from(
    request: Asked,
    answer: { readonly status: number; readonly fields: Record<string, unknown>; readonly headers?: Headers },
  ): ApiError {
    const { error, message, ...fields } = answer.fields;
    const reason = [error, message].find((one) => typeof one === 'string')?.slice(0, 1_000);
    const { status, headers = new Headers() } = answer;
    return new ApiError(status, reason ?? 'no reason given', fields, headers, request);
  }
}

function fieldsOf(text: string): Record<string, unknown> {
  try {
    const body: unknown = JSON.parse(text);
    return typeof body === 'object' && body !== null ? { ...body } : {};
  } catch {
    return {};
  }
}
