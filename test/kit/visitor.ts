import supertest from 'supertest';

/** A form on a page. */
export interface PageForm {
  readonly label: string;
  readonly action: string;
  /** The values that a browser sends when nothing is filled in. */
  readonly values: Readonly<Record<string, string>>;
}

/** A browser without a screen or scripts. Keeps cookies, and posts the forms of pages. */
export class Visitor {
  private readonly jar = new Map<string, string>();

  constructor(
    readonly url: string,
    /** Headers sent with each form; browsers send `Origin: null` from pages without a referrer. */
    private readonly headers: Readonly<Record<string, string>> = { Origin: 'null' },
  ) {}

  get cookie(): string {
    return [...this.jar].map(([name, value]) => `${name}=${value}`).join('; ');
  }

  setCookie(name: string, value: string): void {
    this.jar.set(name, value);
  }

  /** The names of its cookies. */
  get cookieNames(): string[] {
    return [...this.jar.keys()];
  }

  async get(path: string): Promise<supertest.Response> {
    return this.keep(await supertest(this.url).get(path).set('Cookie', this.cookie).redirects(0));
  }

  /** Posts a form of a page with these values; undefined omits a field. */
  async submit(
    page: supertest.Response,
    label: string,
    filledIn: Readonly<Record<string, string | undefined>> = {},
    headers: Readonly<Record<string, string>> = {},
  ): Promise<supertest.Response> {
    const { action, values } = formOf(page, label);
    const fields = Object.entries({ ...values, ...filledIn }).filter(([, value]) => value !== undefined);
    return this.post(action, fields as [string, string][], headers);
  }

  async post(
    path: string,
    fields: readonly (readonly [string, string])[],
    headers: Readonly<Record<string, string>> = {},
  ): Promise<supertest.Response> {
    const body = new URLSearchParams(fields.map(([name, value]) => [name, value])).toString();
    const request = supertest(this.url)
      .post(path)
      .set({ ...this.headers, ...headers })
      .set('Content-Type', 'application/x-www-form-urlencoded');
    return this.keep(await request.set('Cookie', this.cookie).redirects(0).send(body));
  }

  private keep(answer: supertest.Response): supertest.Response {
    for (const cookie of answer.get('Set-Cookie') ?? []) {
      const [pair = '', ...attributes] = cookie.split(';');
      const [name = '', value = ''] = pair.split(/=(.*)/s);
      if (attributes.some((one) => /^\s*max-age=0$/i.test(one))) this.jar.delete(name);
      else this.jar.set(name, value);
    }
    return answer;
  }
}

/** An attribute may contain `>`. */
const INSIDE_TAG = '(?:[^>"]|"[^"]*")*?';

/** The forms of a page, in order. */
export function formsOf({ text }: supertest.Response): PageForm[] {
  return [...text.matchAll(new RegExp(`<form\\b(${INSIDE_TAG})>(.*?)</form>`, 'gs'))].map(
    ([, attributes = '', inner = '']) => {
      const { action = '', 'aria-label': label = '' } = attributesOf(attributes);
      const { 'aria-label': button = textOf(inner) } = attributesOf(/<button\b.*$/s.exec(inner)?.[0] ?? '');
      return { action, label: label || button, values: valuesIn(inner) };
    },
  );
}

/** @throws unless exactly one form has this label: its own, its button's, or else its text */
export function formOf(page: supertest.Response, label: string): PageForm {
  const forms = formsOf(page).filter((form) => form.label === label);
  const labels = formsOf(page).map((form) => form.label);
  if (forms.length !== 1) throw new Error(`${forms.length} forms "${label}" among: ${labels.join(', ')}`);
  return forms[0]!;
}

/** The visible text of a page. */
export const textOf = (html: string): string =>
  decoded(html.replace(/<(?:title|head)\b.*?<\/(?:title|head)>/gs, '').replace(/<[^>]*>/g, ' '))
    .replace(/\s+/g, ' ')
    .trim();

/** The attributes of the element with this id. */
export function elementOf({ text }: supertest.Response, id: string): Record<string, string> {
  const [tag] = new RegExp(`<\\w${INSIDE_TAG}\\bid="${id}"${INSIDE_TAG}>`).exec(text) ?? [''];
  return attributesOf(tag);
}

/** The paths of the files that a page loads. */
export const assetsOf = ({ text }: supertest.Response): string[] =>
  [...text.matchAll(/(?:href|src)="(\/auth\/assets\/[^"]+)"/g)].map(([, path]) => path!);

function valuesIn(html: string): Record<string, string> {
  const inputs = [...html.matchAll(new RegExp(`<input\\b(${INSIDE_TAG})>`, 'g'))].map(([, attributes = '']) =>
    attributesOf(attributes),
  );
  return Object.fromEntries(
    inputs.filter(({ type }) => type !== 'checkbox').map(({ name = '', value = '' }) => [name, value]),
  );
}

function attributesOf(tag: string): Record<string, string> {
  const found = [...tag.matchAll(/([\w-]+)(?:="([^"]*)")?/g)];
  return Object.fromEntries(found.map(([, name = '', value = '']) => [name, decoded(value)]));
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };
const decoded = (html: string): string =>
  html.replace(/&(amp|lt|gt|quot|#39);/g, (_, name: string) => ENTITIES[name] ?? '');
