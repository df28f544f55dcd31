// The page docs/reference/routes.md, from the documents of the API and of the pages: one table of routes per tag.

const METHODS = ['get', 'post', 'put', 'patch', 'delete'];

/**
 * @param {object} api the API document
 * @param {object} pages the document of the pages
 */
export const routesText = (api, pages) =>
  [INTRODUCTION, ...tables(api, API), ...tables(pages, OF_PAGES)].join('\n');

const tables = ({ paths, tags }, columns) =>
  tags.flatMap(({ name }) => {
    const rows = Object.entries(paths).flatMap(([path, operations]) =>
      METHODS.filter((method) => operations[method]?.tags.includes(name)).map((method) =>
        row(
          Object.values(columns).map((cell) => cell(operations[method], `${method.toUpperCase()} ${path}`)),
        ),
      ),
    );
    const head = Object.keys(columns);
    return [`## ${name}`, '', row(head), `|${head.map(() => '---|').join('')}`, ...rows, ''];
  });

const row = (cells) => `| ${cells.join(' | ')} |`;

const API = {
  route: (_, route) => `\`${route}\``,
  operation: ({ operationId }) => `\`${operationId}\``,
  access: ({ security = [] }) => accessOf(security),
  'what it does': ({ summary }) => summary,
  statuses: ({ responses }) => Object.keys(responses).join(', '),
};

const { route, 'what it does': does, statuses } = API;
const OF_PAGES = { route, 'what it does': does, statuses };

const INTRODUCTION = `# Routes

Every route of the service, generated from [openapi.json](../openapi.json) by \`npm run openapi\`. That document has the
parameters, bodies and answers; a running service shows it at \`/docs\`. The pages for browsers are in the last table, and not
in that document.

- **operation**: the operationId, from which a generated client makes the name of its function.
- **access**: the scopes with which a personal access token may use the route; a service JWT may use all of these.
  \`JWT\` means that an access token is refused. \`session\` means the session token or cookie. \`+ key session\` means
  \`X-Key-Session\` too.
- 402 among the statuses: the route needs an active subscription. [Errors](errors.md) says what to do about each status.
`;

function accessOf(security) {
  const names = security.map(
    ({ keySession, ...one }) => `${accessName(one)}${keySession ? ' + key session' : ''}`,
  );
  return names.length > 0 ? [...new Set(names)].join(' or ') : 'open';
}

function accessName(one) {
  if (one.interactive) return 'JWT';
  if (one.sessionToken || one.sessionCookie) return 'session';
  if (!one.bearer) return 'open';
  return one.bearer.length > 0 ? one.bearer.map((scope) => `\`${scope}\``).join(' or ') : 'any bearer';
}
