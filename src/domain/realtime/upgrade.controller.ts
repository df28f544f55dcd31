import { Controller, Get } from '@nestjs/common';
import { OwnedWorkspace, Scopes } from '../../access/index.js';
import { Documented } from '../../platform/api-docs/index.js';
import { UpgradeRequired } from '../../platform/http/index.js';

const UPGRADE_DOCS = {
  tag: 'Live room',
  operations: {
    get: {
      id: 'liveRoom.open',
      summary: 'Open the live room of a workspace (WebSocket)',
      description:
        'The request is a WebSocket upgrade. The bearer token is in the Authorization header, or in the query, because ' +
        'browsers cannot set headers here; where there are both, the header counts. Frames are JSON texts of at most 64 KiB. The client sends `hello` with `cursor` and `deviceId`, and ' +
        '`ping`. The service sends `welcome`, `changes`, `assets-changed`, `device_connected`, ' +
        '`device_disconnected`, `pong` and `error`. A refusal is an HTTP answer before the upgrade.',
      query: {
        token: { description: 'A JWT or a personal access token, instead of the Authorization header.' },
      },
      headers: { Upgrade: { description: '`websocket`' } },
      answers: {
        101: { description: 'the WebSocket is open', headers: { Upgrade: '`websocket`' } },
        426: 'the request does not ask for an upgrade',
      },
    },
  },
} as const;

/** Answers plain HTTP requests to the live room's URL. The upgrade itself never reaches this controller. */
@Controller('api/v1/workspaces/:id/ws')
@Documented(UPGRADE_DOCS)
export class UpgradeController {
  /** Always throws. @throws UpgradeRequired */
  @Get()
  @Scopes('documents:read')
  @OwnedWorkspace()
  get(): never {
    throw new UpgradeRequired();
  }
}
