// The page docs/reference/routes.md from the API document: a table of routes per tag.

const METHODS = ['get', 'post', 'put', 'patch', 'delete'];

/** @param {object} document an OpenAPI document */
export function routesText({ paths, tags }) {
  const sections = tags.map(({ name }) => {
    const rows = Object.entries(paths).flatMap(([path, operations]) =>
      METHODS.filter((method) => operations[method]?.tags.includes(name)).map((method) =>
        rowOf(method, path, operations[method]),
      ),
    );
    return [
      `## ${name}`,
      '',
      '| route | access | what it does | statuses |',
      '|---|---|---|---|',
      ...rows,
      '',
    ];
  });
  return [INTRODUCTION, ...sections.flat()].join('\n');
}

const INTRODUCTION = `# Routes

Every route of the service, generated from [openapi.json](../openapi.json) by \`npm run openapi\`. That document has the
parameters, bodies and answers; a running service shows it at \`/docs\`.

- **access**: the scopes with which a personal access token may use the route; a service JWT may use all of these.
  \`JWT\` means that an access token is refused. \`none\` means no bearer: the route is open, or reads the session as
  its description says.
- 402 among the statuses: the route needs an active subscription. [Errors](errors.md) says what to do about each status.
`;

const rowOf = (method, path, { security = [], summary, responses }) =>
  `| \`${method.toUpperCase()} ${path}\` | ${accessOf(security)} | ${summary} | ${Object.keys(responses).join(', ')} |`;

function accessOf(security) {
  const names = security.map((one) => {
    if (one.interactive) return 'JWT';
    const scopes = Object.values(one).flat();
    return scopes.length > 0 ? scopes.map((scope) => `\`${scope}\``).join(' or ') : 'any bearer';
  });
  return names.length > 0 ? names.join(' or ') : 'none';
}
