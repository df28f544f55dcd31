import type { FastifyRequest } from 'fastify';
import { BadRequest, isEncodedUtf8, readBody, UnsupportedMediaType, utf8Of } from '../../platform/http/index.js';

const BODY_LIMIT = 32 * 1024;
const FORM = /^application\/x-www-form-urlencoded\s*(?:;|$)/i;

const CHECKED: ReadonlySet<string> = new Set(['csrf_token', 'confirm_password']);

/** A posted form, or the query of an address. */
export class Form {
  private constructor(private readonly fields: URLSearchParams) {}

  /**
   * @throws UnsupportedMediaType for another content type, BadRequest for a form that is not UTF-8, or contains NUL, which the
   *   database cannot store
   */
  static async read(request: FastifyRequest): Promise<Form> {
    if (!FORM.test(request.headers['content-type'] ?? ''))
      throw new UnsupportedMediaType('the request body must be a URL-encoded form');
    const text = utf8Of(await readBody(request.raw, BODY_LIMIT));
    if (!isEncodedUtf8(text)) throw new BadRequest('the form is not UTF-8');
    const form = new Form(new URLSearchParams(text));
    for (const [name, value] of form.fields) {
      if (`${name}${value}`.includes('\0')) throw new BadRequest('the form contains a NUL character');
    }
    return form;
  }

  static ofQuery(request: FastifyRequest): Form {
    const start = request.url.indexOf('?');
    return new Form(new URLSearchParams(start < 0 ? '' : request.url.slice(start + 1)));
  }

  /** @throws BadRequest when the field occurs more than once: parsers differ in which one they use */
  get(name: string): string | undefined {
    const values = this.fields.getAll(name);
    if (values.length > 1) throw new BadRequest(`${name} appears more than once`);
    return values[0];
  }

  /** The trimmed value; empty when absent. */
  text(name: string): string {
    return this.get(name)?.trim() ?? '';
  }

  /** All fields but the token and the password that a form is checked by. */
  others(): [string, string][] {
    return [...this.fields].filter(([name]) => !CHECKED.has(name));
  }

  all(name: string): string[] {
    return this.fields.getAll(name);
  }
}
