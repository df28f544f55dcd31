import { Controller, Get } from '@nestjs/common';
import { OwnedWorkspace, Scopes } from '../access/index.js';
import { Documented } from '../api-docs/index.js';
import { UpgradeRequired } from '../platform/http/index.js';

const UPGRADE_DOCS = {
  tag: 'Live room',
  operations: {
    get: {
      summary: 'The live room of a workspace: a WebSocket',
      description:
        'To be asked for as an upgrade, with the bearer token in the query, as browsers can set no headers here. ' +
        'Frames are JSON texts of at most 64 KiB. The client says `hello` with `cursor` and `deviceId`, and `ping`; ' +
        'the service says `welcome`, `changes`, `assets-changed`, `device_connected`, `device_disconnected`, `pong` ' +
        'and `error`. A refusal comes as an HTTP answer before the upgrade.',
      query: {
        token: { description: 'A JWT or a personal access token; in place of the Authorization header.' },
      },
      headers: { Upgrade: { description: '`websocket`' } },
      answers: {
        101: { description: 'the room is open', headers: { Upgrade: '`websocket`' } },
        426: 'the request asks for no upgrade',
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
