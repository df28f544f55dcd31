import type { ApiDocument } from '../../platform/api-docs/index.js';
import type { ListedOperation } from './groups.js';
import { requestOf, type SampleRequest } from './sample-request.js';

/** A program that asks for an operation. Values to fill in are variables: SYNC_URL, TOKEN, and those of the parameters. */
export interface Sample {
  readonly language: 'curl' | 'JavaScript' | 'Python';
  readonly text: string;
}

export function samplesOf(listed: ListedOperation, document: ApiDocument): Sample[] {
  const request = requestOf(listed, document);
  return [
    { language: 'curl', text: curl(request) },
    { language: 'JavaScript', text: request.isWebSocket ? webSocket(request) : javaScript(request) },
    { language: 'Python', text: request.isWebSocket ? pythonWebSocket(request) : python(request) },
  ];
}

function curl({ method, url, headers, json, sendsBytes, isWebSocket }: SampleRequest): string {
  const variable = (name: string): string => `$${name}`;
  return [
    `curl${method === 'get' ? '' : ` -X ${method.toUpperCase()}`} "${url(variable)}"`,
    ...headers.map(([name, value]) => `-H "${name}: ${value(variable)}"`),
    ...(isWebSocket ? ["--http1.1 -N -H 'Connection: Upgrade' -H 'Upgrade: websocket'", WEBSOCKET_KEY] : []),
    ...(json === undefined ? [] : [`-d '${JSON.stringify(json).replaceAll("'", "'\\''")}'`]),
    ...(sendsBytes ? ['--data-binary @FILE'] : []),
  ].join(' \\\n  ');
}

const WEBSOCKET_KEY = `-H 'Sec-WebSocket-Version: 13' -H "Sec-WebSocket-Key: $(openssl rand -base64 16)"`;

const inTemplate = (name: string): string => `\${${name}}`;

function javaScript({ method, url, headers, json, sendsBytes, answers }: SampleRequest): string {
  const options = [
    ...(method === 'get' ? [] : [`  method: '${method.toUpperCase()}',`]),
    ...(headers.length > 0
      ? [
          '  headers: {',
          ...headers.map(([name, value]) => `    '${name}': \`${value(inTemplate)}\`,`),
          '  },',
        ]
      : []),
    ...(json === undefined ? [] : [`  body: JSON.stringify(${JSON.stringify(json)}),`]),
    ...(sendsBytes ? ['  body: BYTES,'] : []),
  ];
  const last = options.length > 0 ? `, {\n${options.join('\n')}\n})` : ')';
  return [
    `const response = await fetch(\`${url(inTemplate)}\`${last};`,
    'if (!response.ok) throw new Error(await response.text());',
    ...(answers === 'nothing' ? [] : [`const answer = await response.${READ_IN_JAVASCRIPT[answers]};`]),
  ].join('\n');
}

const READ_IN_JAVASCRIPT = { json: 'json()', text: 'text()', bytes: 'arrayBuffer()' };

/** A browser cannot set the headers of a WebSocket, so the token is in the query. */
function webSocket({ url }: SampleRequest): string {
  return [
    `const url = \`${url(inTemplate)}?token=\${TOKEN}\`.replace(/^http/, 'ws');`,
    'const socket = new WebSocket(url);',
    "socket.addEventListener('message', ({ data }) => console.log(JSON.parse(data)));",
  ].join('\n');
}

const inFormat = (name: string): string => `{${name}}`;

function python({ method, url, headers, json, sendsBytes, answers }: SampleRequest): string {
  const args = [
    `f"${url(inFormat)}"`,
    ...(headers.length > 0
      ? [
          `headers={\n${headers.map(([name, value]) => `        "${name}": f"${value(inFormat)}",`).join('\n')}\n    }`,
        ]
      : []),
    ...(json === undefined ? [] : [`json=${pythonValue(json)}`]),
    ...(sendsBytes ? ['data=BYTES'] : []),
  ];
  return [
    'import requests',
    '',
    `response = requests.${method}(`,
    ...args.map((arg) => `    ${arg},`),
    ')',
    'response.raise_for_status()',
    ...(answers === 'nothing' ? [] : [`answer = response.${READ_IN_PYTHON[answers]}`]),
  ].join('\n');
}

const READ_IN_PYTHON = { json: 'json()', text: 'text', bytes: 'content' };

function pythonWebSocket({ url, headers }: SampleRequest): string {
  return [
    'from websockets.sync.client import connect',
    '',
    `url = f"${url(inFormat)}".replace("http", "ws", 1)`,
    `headers = {${headers.map(([name, value]) => `"${name}": f"${value(inFormat)}"`).join(', ')}}`,
    'with connect(url, additional_headers=headers) as socket:',
    '    for message in socket:',
    '        print(message)',
  ].join('\n');
}

/** A JSON value as a Python literal. */
function pythonValue(value: unknown): string {
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (Array.isArray(value)) return `[${value.map(pythonValue).join(', ')}]`;
  if (typeof value !== 'object') return JSON.stringify(value);
  const pairs = Object.entries(value).map(([key, one]) => `${JSON.stringify(key)}: ${pythonValue(one)}`);
  return `{${pairs.join(', ')}}`;
}
