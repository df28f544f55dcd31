import { Allow, IsString } from 'class-validator';
import { IsName } from '../platform/http/index.js';

export class CreateDeviceRequest {
  @IsName(100)
  name: string;

  @IsName(50)
  platform: string;
}

/** Ownership is decided before the rest is looked at, so only what it needs is checked here. */
export class SubscribeRequest {
  @IsString()
  workspaceId: string;

  @Allow()
  deviceId?: unknown;

  @Allow()
  endpoint?: unknown;

  @Allow()
  keys?: unknown;
}
