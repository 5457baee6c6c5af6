/** Texts of the area "runs". */
import { area } from './messages'

export const runs = area({ title: 'Runs' }, { title: 'Runs' })
