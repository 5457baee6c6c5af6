/** Texts of the area "approvals". */
import { area } from './messages'

export const approvals = area({ title: 'Approvals' }, { title: 'Approvals' })
