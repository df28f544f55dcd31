import { IsName } from '../platform/http/index.js';

export class CreateDeviceRequest {
  @IsName(100)
  name: string;

  @IsName(50)
  platform: string;
}
